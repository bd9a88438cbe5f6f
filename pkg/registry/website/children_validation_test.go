package website

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func server(limits, requests string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Resources.Server = memory(limits, requests) }
}

func memory(limit, request string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)},
		Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(request)},
	}
}

func tolerating(toleration corev1.Toleration) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Scheduling.Tolerations = []corev1.Toleration{toleration} }
}

// disk limits the volume of a pod.
func disk(size string) func(*website.Website) {
	return func(w *website.Website) {
		quantity := resource.MustParse(size)
		w.Spec.Storage.SizeLimit = &quantity
	}
}

// childrenCases cover the Service and the pods.
var childrenCases = map[string]specCase{
	"service type": {tweak: func(w *website.Website) { w.Spec.Service.Type = v1beta1.ServiceTypeClusterIP }},
	"service type unknown": {tweak: func(w *website.Website) { w.Spec.Service.Type = "ExternalName" },
		want: []string{`spec.service.type: Unsupported value: "ExternalName": supported values: "ClusterIP", ` +
			`"LoadBalancer", "NodePort"`}},
	"node port": {tweak: func(w *website.Website) { w.Spec.Service.NodePort = 30080 }},
	"node port of a balancer": {tweak: func(w *website.Website) {
		w.Spec.Service = v1beta1.WebsiteService{Type: v1beta1.ServiceTypeLoadBalancer, NodePort: 30080}
	}},
	"node port of a cluster IP": {tweak: func(w *website.Website) {
		w.Spec.Service = v1beta1.WebsiteService{Type: v1beta1.ServiceTypeClusterIP, NodePort: 30080}
	},
		want: []string{"spec.service.nodePort: Forbidden: may only be set when the type is NodePort or LoadBalancer"}},
	"node port negative": {tweak: func(w *website.Website) { w.Spec.Service.NodePort = -1 },
		want: []string{"spec.service.nodePort: Invalid value: -1: must be greater than or equal to 1"}},
	"node port too high": {tweak: func(w *website.Website) { w.Spec.Service.NodePort = 65536 },
		want: []string{"spec.service.nodePort: Invalid value: 65536: must be less than or equal to 65535"}},

	"resources":  {tweak: server("64Mi", "64Mi")},
	"disk":       {tweak: disk("64Mi")},
	"large disk": {tweak: disk("16Ti")},
	"disk too small": {tweak: disk("63Mi"),
		want: []string{`spec.storage.sizeLimit: Invalid value: "63Mi": must be between 64Mi and 16Ti`}},
	"disk too large": {tweak: disk("17Ti"),
		want: []string{`spec.storage.sizeLimit: Invalid value: "17Ti": must be between 64Mi and 16Ti`}},
	"sync resources": {tweak: func(w *website.Website) { w.Spec.Resources.Sync = memory("2", "1") }},
	"negative limit": {tweak: func(w *website.Website) {
		w.Spec.Resources.Server.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("-1")}
	}, want: []string{`spec.resources.server.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0`}},
	"negative request": {tweak: server("64Mi", "-1"),
		want: []string{`spec.resources.server.requests[memory]: Invalid value: "-1": must be greater than or equal to 0`}},
	"request over limit": {tweak: server("64Mi", "65Mi"), want: []string{`spec.resources.server.requests[memory]: ` +
		`Invalid value: "65Mi": must be less than or equal to the limit of 64Mi`}},
	"sync request over limit": {tweak: func(w *website.Website) { w.Spec.Resources.Sync = memory("1", "2") },
		want: []string{`spec.resources.sync.requests[memory]: Invalid value: "2": must be less than or equal to the ` +
			`limit of 1`}},
	"resource of a device": {tweak: func(w *website.Website) {
		w.Spec.Resources.Server.Limits = corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	}, want: []string{`spec.resources.server.limits[example.com/gpu]: Unsupported value: "example.com/gpu": supported ` +
		`values: "cpu", "memory", "ephemeral-storage"`}},
	"device requested for the sync": {tweak: func(w *website.Website) {
		w.Spec.Resources.Sync.Requests = corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	}, want: []string{`spec.resources.sync.requests[example.com/gpu]: Unsupported value: "example.com/gpu": supported ` +
		`values: "cpu", "memory", "ephemeral-storage"`}},
	"resource claims": {tweak: func(w *website.Website) {
		w.Spec.Resources.Server.Claims = []corev1.ResourceClaim{{Name: "x"}}
	},
		want: []string{"spec.resources.server.claims: Forbidden: resource claims are not supported"}},

	"node selector": {tweak: func(w *website.Website) {
		w.Spec.Scheduling.NodeSelector = map[string]string{"example.com/zone": "a"}
	}},
	"node selector illegal": {tweak: func(w *website.Website) {
		w.Spec.Scheduling.NodeSelector = map[string]string{"zone": "a b"}
	}, want: []string{`spec.scheduling.nodeSelector: Invalid value: "a b": ` + validation.IsValidLabelValue("a b")[0]}},
	"toleration": {
		tweak: tolerating(corev1.Toleration{Key: "a", Value: "b", Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: ptr.To[int64](1)}),
	},
	"toleration of all": {tweak: tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists})},
	"toleration of nothing": {tweak: tolerating(corev1.Toleration{}),
		want: []string{`spec.scheduling.tolerations[0].operator: Invalid value: "": must be Exists when there is no key`}},
	"toleration key": {tweak: tolerating(corev1.Toleration{Key: "a b"}),
		want: []string{`spec.scheduling.tolerations[0].key: Invalid value: "a b": ` + validation.IsQualifiedName("a b")[0]}},
	"toleration value": {
		tweak: tolerating(corev1.Toleration{Key: "a", Value: "b c"}),
		want: []string{
			`spec.scheduling.tolerations[0].value: Invalid value: "b c": ` + validation.IsValidLabelValue("b c")[0],
		},
	},
	"toleration operator": {
		tweak: tolerating(corev1.Toleration{Key: "a", Operator: "In"}),
		want: []string{`spec.scheduling.tolerations[0].operator: Unsupported value: "In": supported values: ` +
			`"Exists", "Equal"`},
	},
	"toleration effect": {tweak: tolerating(corev1.Toleration{Key: "a", Effect: "Never"}),
		want: []string{`spec.scheduling.tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", ` +
			`"PreferNoSchedule", "NoExecute"`}},
	"toleration of a value": {
		tweak: tolerating(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, Value: "b"}),
		want: []string{`spec.scheduling.tolerations[0].value: Invalid value: "b": must be empty when the operator ` +
			`is Exists`},
	},
	"toleration for a time": {tweak: tolerating(corev1.Toleration{Key: "a", TolerationSeconds: ptr.To[int64](1)}),
		want: []string{`spec.scheduling.tolerations[0].effect: Invalid value: "": must be NoExecute when ` +
			`tolerationSeconds is set`}},
}
