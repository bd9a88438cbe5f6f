package cached

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// many is the number of items in a list of a large object, and long is a string that takes most of
// one.
const many = 10_000

var long = strings.Repeat("x", 1<<20)

// applied returns managed fields of the controller.
func applied(fields string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{
		Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fields),
	}}
}

// largeMetadata returns metadata that another client can give an object with the label of the
// controller.
func largeMetadata(controller metav1.OwnerReference) metav1.ObjectMeta {
	metadata := metav1.ObjectMeta{
		Namespace: "default", Name: "site-agent", Labels: map[string]string{},
		Annotations:   map[string]string{GenerationAnnotation: long, LimitedRolloutAnnotation: long, "other": long},
		ManagedFields: applied(`{"f:metadata":{"f:finalizers":{"v:\"example.com/1\"":{}}}}`),
	}
	for i := range many {
		metadata.Labels[fmt.Sprintf("label-%d", i)] = "value"
		metadata.Finalizers = append(metadata.Finalizers, fmt.Sprintf("example.com/%d", i))
		metadata.OwnerReferences = append(metadata.OwnerReferences,
			metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))})
	}
	metadata.OwnerReferences = append(metadata.OwnerReferences, controller)
	return metadata
}

// TestTrimLarge: clients that may create objects determine their size, but not the size in the
// caches.
func TestTrimLarge(t *testing.T) {
	pod := corev1.PodTemplateSpec{}
	selector, rules, ports := map[string]string{}, []networkingv1.IngressRule{}, []corev1.ServicePort{}
	for i := range many {
		pod.Spec.Volumes = append(pod.Spec.Volumes, mounted(fmt.Sprintf("site-nginx-%d", i)))
		selector[fmt.Sprintf("label-%d", i)] = "value"
		rules = append(rules, networkingv1.IngressRule{Host: fmt.Sprintf("host-%d", i),
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}})
		ports = append(ports, corev1.ServicePort{Name: fmt.Sprintf("port-%d", i), Port: int32(i)})
	}
	expressions := []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn,
		Values: []string{long}}}
	kinds := map[string]func(metadata metav1.ObjectMeta) any{
		"ConfigMap": func(metadata metav1.ObjectMeta) any {
			return &corev1.ConfigMap{ObjectMeta: metadata, Data: map[string]string{requests.PinFile: long,
				requests.KeysFile: long, "other": long}, BinaryData: map[string][]byte{requests.PinFile: []byte(long)}}
		},
		"Deployment": func(metadata metav1.ObjectMeta) any {
			return &appsv1.Deployment{ObjectMeta: metadata,
				Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: selector}, Template: pod}}
		},
		"Deployment, by expressions": func(metadata metav1.ObjectMeta) any {
			return &appsv1.Deployment{ObjectMeta: metadata,
				Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchExpressions: expressions}}}
		},
		"Service": func(metadata metav1.ObjectMeta) any {
			return &corev1.Service{ObjectMeta: metadata,
				Spec: corev1.ServiceSpec{Selector: selector, Ports: ports, LoadBalancerSourceRanges: []string{long}}}
		},
		"PodDisruptionBudget": func(metadata metav1.ObjectMeta) any {
			return &policyv1.PodDisruptionBudget{ObjectMeta: metadata,
				Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: selector}}}
		},
		"Ingress": func(metadata metav1.ObjectMeta) any {
			return &networkingv1.Ingress{ObjectMeta: metadata,
				Spec: networkingv1.IngressSpec{Rules: rules, TLS: []networkingv1.IngressTLS{{SecretName: long}}}}
		},
		"HTTPRoute": func(metadata metav1.ObjectMeta) any {
			return &gatewayv1.HTTPRoute{ObjectMeta: metadata, Spec: gatewayv1.HTTPRouteSpec{Hostnames: []gatewayv1.Hostname{"a"},
				Rules: make([]gatewayv1.HTTPRouteRule, many)}}
		},
		"ListenerSet": func(metadata metav1.ObjectMeta) any {
			tls := &gatewayv1.ListenerTLSConfig{
				Options: map[gatewayv1.AnnotationKey]gatewayv1.AnnotationValue{"a": gatewayv1.AnnotationValue(long)},
			}
			return &gatewayv1.ListenerSet{
				ObjectMeta: metadata, Spec: gatewayv1.ListenerSetSpec{
					Listeners: []gatewayv1.ListenerEntry{{Name: "a", Hostname: ptr.To(gatewayv1.Hostname("a")), TLS: tls}},
				},
			}
		},
	}
	owners := map[string]metav1.OwnerReference{
		"an orphan": {},
		"of a Website": {APIVersion: "mycontroller.nevermosby.io/v1beta1", Kind: "Website", Name: long,
			UID: types.UID(long), Controller: ptr.To(true)},
		"of another workload": {APIVersion: long, Kind: long, Name: long, UID: types.UID(long), Controller: ptr.To(true)},
	}
	const most = 8 << 10
	for owner, controller := range owners {
		for kind, newObject := range kinds {
			child := Of(newObject(largeMetadata(controller))).(interface {
				metav1.ObjectMetaAccessor
				Written() Notes
			})
			if child.Written().Applied == (Digest{}) {
				t.Errorf("a %s, %s: nothing was applied", kind, owner)
			}
			if size := len(encoded(t, child)); size > most {
				t.Errorf("a %s, %s: %d bytes are kept, at most %d are wanted", kind, owner, size, most)
			}
			if kept := metav1.GetControllerOf(child.GetObjectMeta()); (kept != nil) != ptr.Deref(controller.Controller, false) {
				t.Errorf("a %s, %s: the controller is %+v", kind, owner, kept)
			}
		}
	}
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: largeMetadata(owners["an orphan"]),
		Spec: appsv1.ReplicaSetSpec{Template: pod}}
	if size := len(encoded(t, OfReplicaSet(replicaSet))); size > most {
		t.Errorf("a ReplicaSet: %d bytes are kept, at most %d are wanted", size, most)
	}
}

// TestTrimKeepsWhatIsRead: the children of the controller are within all bounds.
func TestTrimKeepsWhatIsRead(t *testing.T) {
	website := newWebsite()
	for i := range 64 {
		website.Spec.Hosts = append(website.Spec.Hosts, v1beta1.WebsiteHost{Name: fmt.Sprintf("host-%d.example.com", i)})
	}
	made := func(configuration, child any) any {
		t.Helper()
		data, err := json.Marshal(configuration)
		if err == nil {
			err = json.Unmarshal(data, child)
		}
		if err != nil {
			t.Fatal(err)
		}
		return Of(child)
	}
	ingress := made(resources.Ingress(website, resources.HostNames(website), "shared"), &networkingv1.Ingress{}).(*Ingress)
	if !slices.Equal(ingress.Hosts, resources.HostNames(website)) || *ingress.Class != "shared" {
		t.Errorf("the Ingress is %+v", ingress)
	}
	service := made(resources.Service(website), &corev1.Service{}).(*Service)
	if len(service.Ports) != 1 || service.Ports[0].TargetPort != resources.HTTPTargetPort ||
		!maps.Equal(service.Selector.Set(), resources.PodSelector(website)) {
		t.Errorf("the Service is %+v", service)
	}
	budget := made(resources.PodDisruptionBudget(website), &policyv1.PodDisruptionBudget{}).(*PodDisruptionBudget)
	if !maps.Equal(budget.Selector.Set(), resources.PodSelector(website)) {
		t.Errorf("the PodDisruptionBudget is %+v", budget)
	}
	agents := made(resources.AgentConfigMap(website, ""), &corev1.ConfigMap{}).(*ConfigMap)
	if agents.Pin == "" {
		t.Errorf("the ConfigMap for agents is %+v", agents)
	}
	keys := strings.Repeat("k", 2000) // Eight keys take less.
	agents = made(resources.AgentKeysConfigMap("default", keys), &corev1.ConfigMap{}).(*ConfigMap)
	if agents.Keys != keys {
		t.Errorf("the ConfigMap with the keys is %+v", agents)
	}
}

func TestTrimSelector(t *testing.T) {
	labels, large := map[string]string{"a": "b"}, map[string]string{}
	for i := range maxItems + 1 {
		large[fmt.Sprint(i)] = "b"
	}
	expressions := []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}}
	for name, test := range map[string]struct {
		selector *metav1.LabelSelector
		isKept   bool
	}{
		"none":        {},
		"by labels":   {&metav1.LabelSelector{MatchLabels: labels}, true},
		"by many":     {&metav1.LabelSelector{MatchLabels: large}, false},
		"by more yet": {&metav1.LabelSelector{MatchLabels: labels, MatchExpressions: expressions}, false},
	} {
		if kept := trimLabelSelector(test.selector); (kept != "") != test.isKept ||
			test.isKept && !maps.Equal(kept.Set(), labels) {
			t.Errorf("%s: kept is %+v", name, kept)
		}
	}
}

// TestTrimmedConfigMap: a change of a field that is not cached is detected.
func TestTrimmedConfigMap(t *testing.T) {
	data := map[string]string{requests.PinFile: "p", requests.KeysFile: "k", requests.PreviewsFile: "b"}
	wanted, err := ConfigMaps.Digest(corev1ac.ConfigMap("site-agent", "default").WithData(data))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		edit func(*corev1.ConfigMap)
		same bool
	}{
		"none": {func(*corev1.ConfigMap) {}, true},
		"a file of another": {func(c *corev1.ConfigMap) {
			c.Data["other"], c.BinaryData = long, map[string][]byte{"more": []byte(long)}
		}, true},
		"the pin":                   {func(c *corev1.ConfigMap) { c.Data[requests.PinFile] = "q" }, false},
		"the pin, too long":         {func(c *corev1.ConfigMap) { c.Data[requests.PinFile] = long }, false},
		"the keys, too long":        {func(c *corev1.ConfigMap) { c.Data[requests.KeysFile] = long }, false},
		"the branches for previews": {func(c *corev1.ConfigMap) { c.Data[requests.PreviewsFile] = "c" }, false},
		"a file that is not there":  {func(c *corev1.ConfigMap) { delete(c.Data, requests.PreviewsFile) }, false},
	} {
		configMap := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "site-agent",
				ManagedFields: applied(fmt.Sprintf(`{"f:data":{"f:%s":{},"f:%s":{},"f:%s":{}}}`, requests.PinFile,
					requests.KeysFile, requests.PreviewsFile)),
			},
			Data: maps.Clone(data),
		}
		test.edit(configMap)
		kept := OfConfigMap(configMap)
		if (kept.Applied == wanted) != test.same {
			t.Errorf("%s: what was applied is as wanted: %t, want %t", name, kept.Applied == wanted, test.same)
		}
		if size := len(kept.Pin) + len(kept.Keys); size > maxAgentFile {
			t.Errorf("%s: %d bytes of files are kept", name, size)
		}
	}
}
