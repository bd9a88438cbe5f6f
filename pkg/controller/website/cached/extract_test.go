package cached

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"
	gatewayfake "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned/fake"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

func newWebsite() *v1beta1.Website {
	return &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubia", UID: "uid-of-kubia"},
		Spec:       v1beta1.WebsiteSpec{DeploymentName: "kubia-website"},
	}
}

// TestExtractDeployment compares the extracted fields of Deployments that client-go accepts with its
// result.
func TestExtractDeployment(t *testing.T) {
	for name, tweak := range map[string]func(*appsv1.Deployment){
		"as applied":        func(*appsv1.Deployment) {},
		"an edit":           func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "nginx:2" },
		"a field gone":      func(d *appsv1.Deployment) { d.Spec.Replicas = nil },
		"a container gone":  func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Name = "other" },
		"no managed fields": func(d *appsv1.Deployment) { d.ManagedFields = nil },
		"an update": func(d *appsv1.Deployment) {
			d.ManagedFields[1].Operation = metav1.ManagedFieldsOperationUpdate
		},
		"another manager": func(d *appsv1.Deployment) { d.ManagedFields[1].Manager = "kubectl" },
		"finalizers, which are a set": func(d *appsv1.Deployment) {
			d.Finalizers = []string{"example.com/a", "example.com/b"}
			d.ManagedFields[1].FieldsV1 = metav1.NewFieldsV1(`{"f:metadata":{"f:finalizers":{"v:\"example.com/b\"":{}}}}`)
		},
	} {
		deployment := newDeployment(tweak)
		want, err := appsv1ac.ExtractDeployment(deployment, FieldManager)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before := deployment.DeepCopy()
		if got, err := Deployments.Extract(deployment, FieldManager); err != nil || encoded(t, got) != encoded(t, want) {
			t.Errorf("%s: extracted %s (%v), want %s", name, encoded(t, got), err, encoded(t, want))
		}
		if !reflect.DeepEqual(deployment, before) {
			t.Errorf("%s: the Deployment is %+v afterwards, was %+v", name, deployment, before)
		}
	}
}

// TestExtractNothing: an entry without fields has no applied fields.
func TestExtractNothing(t *testing.T) {
	for name, fields := range map[string]*metav1.FieldsV1{"none": nil, "an empty set": metav1.NewFieldsV1(`{}`)} {
		deployment := newDeployment(func(d *appsv1.Deployment) { d.ManagedFields[1].FieldsV1 = fields })
		if got, err := Deployments.Extract(deployment, FieldManager); err != nil ||
			!reflect.DeepEqual(got, appsv1ac.Deployment("site", "default")) {
			t.Errorf("%s: extracted %+v (%v)", name, got, err)
		}
	}
}

// TestExtractChildren compares the extracted fields of real children with client-go and with the
// applied ones, after another client has added fields.
func TestExtractChildren(t *testing.T) {
	website := newWebsite()
	website.Spec.Source = v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: "https://example.com/site.git",
		Submodules: v1beta1.SubmodulesNone, SecretRef: &v1beta1.SecretReference{Name: "credentials"}}}
	website.Spec.Polling.Mode = v1beta1.PollingModePeriodic
	website.Spec.Hosts, website.Spec.Replicas = []v1beta1.WebsiteHost{
		{Name: "www.example.com", Role: v1beta1.HostRoleCanonical}, {Name: "example.com", Role: v1beta1.HostRoleRedirect},
	}, ptr.To[int32](2)
	website.Spec.Service.Type = v1beta1.ServiceTypeNodePort
	deployment, config := built(t, website)
	routes := &resources.HostRoutes{
		Website: website, Hosts: resources.HostNames(website),
		Gateways: []resources.Gateway{
			{
				OwnListeners: true, Gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "gateways",
					Name: "shared"}},
			},
		},
	}

	kube, gateway := fake.NewClientset(), gatewayfake.NewClientset().GatewayV1()
	const namespace = "default"
	extractsAsClientGo(t, kube.AppsV1().Deployments(namespace), deployment, Deployments.Extract,
		appsv1ac.ExtractDeployment,
		`{"spec":{"paused":true,"template":{"spec":{"containers":[{"name":"nginx","env":[{"name":"MORE","value":"1"}]},`+
			`{"name":"sidecar","image":"sidecar:1"}],"volumes":[{"name":"more","emptyDir":{}}]}}}}`)
	extractsAsClientGo(t, kube.CoreV1().ConfigMaps(namespace), resources.ConfigMap(website, config), ConfigMaps.Extract,
		corev1ac.ExtractConfigMap, `{"data":{"more":"1"}}`)
	extractsAsClientGo(t, kube.CoreV1().Services(namespace), resources.Service(website), Services.Extract,
		corev1ac.ExtractService,
		`{"spec":{"ports":[{"port":9113,"protocol":"TCP","name":"metrics"}]}}`)
	extractsAsClientGo(t, kube.PolicyV1().PodDisruptionBudgets(namespace), resources.PodDisruptionBudget(website),
		PodDisruptionBudgets.Extract, policyv1ac.ExtractPodDisruptionBudget,
		`{"metadata":{"labels":{"more":"1"}}}`)
	extractsAsClientGo(
		t, kube.NetworkingV1().Ingresses(namespace), resources.Ingress(website, resources.HostNames(website), "shared"),
		Ingresses.Extract, networkingv1ac.ExtractIngress, `{"metadata":{"labels":{"more":"1"}}}`,
	)
	for _, route := range routes.HTTPRoutes() {
		extractsAsClientGo(t, gateway.HTTPRoutes(namespace), route, HTTPRoutes.Extract, gatewayv1ac.ExtractHTTPRoute,
			`{"metadata":{"labels":{"more":"1"}}}`)
	}
	for _, set := range routes.ListenerSets() {
		extractsAsClientGo(t, gateway.ListenerSets(namespace), set, ListenerSets.Extract, gatewayv1ac.ExtractListenerSet,
			`{"metadata":{"labels":{"more":"1"}}}`)
	}
}

// built returns the Deployment of a Website, and its nginx configuration.
func built(t testing.TB, website *v1beta1.Website) (*appsv1ac.DeploymentApplyConfiguration, string) {
	t.Helper()
	installation := resources.Installation{Nginx: "nginx:1", GitSync: "git-sync:2", Agent: "agent:3",
		PullSecrets: []string{"pull"}}
	config, err := resources.NginxConfig(website, installation)
	if err != nil {
		t.Fatal(err)
	}
	deployment, err := resources.Deployment(website, installation, config)
	if err != nil {
		t.Fatal(err)
	}
	return deployment, config
}

// patcher is a client that another field manager uses as well.
type patcher[T Object, A any] interface {
	Apply(ctx context.Context, desired A, options metav1.ApplyOptions) (T, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions,
		subresources ...string) (T, error)
}

func extractsAsClientGo[T Object, A ApplyConfiguration[A]](t *testing.T, client patcher[T, A], desired A, ours,
	clientGo func(T, string) (A, error), more string) {
	t.Helper()
	applied, err := client.Apply(t.Context(), desired, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	edited, err := client.Patch(t.Context(), *desired.GetName(), types.StrategicMergePatchType, []byte(more),
		metav1.PatchOptions{FieldManager: "kubectl"})
	if err != nil {
		t.Fatal(err)
	}
	if encoded(t, edited) == encoded(t, applied) {
		t.Fatalf("%T: nothing was added", applied)
	}
	for _, child := range []T{applied, edited} {
		got, err := ours(child, FieldManager)
		if err != nil {
			t.Fatal(err)
		}
		want, err := clientGo(child, FieldManager)
		if err != nil {
			t.Fatal(err)
		}
		if encoded(t, got) != encoded(t, want) || encoded(t, got) != encoded(t, desired) {
			t.Errorf("%T: extracted\n%s, client-go extracts\n%s, applied was\n%s", child, encoded(t, got), encoded(t, want),
				encoded(t, desired))
		}
	}
}

func encoded(t *testing.T, object any) string {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// BenchmarkExtractDeployment compares the duration of an extraction with client-go.
func BenchmarkExtractDeployment(b *testing.B) {
	website := newWebsite()
	website.Spec.Source = v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: "https://example.com/site.git",
		Submodules: v1beta1.SubmodulesNone}}
	website.Spec.Polling.Mode = v1beta1.PollingModePeriodic
	desired, _ := built(b, website)
	deployment, err := fake.NewClientset().AppsV1().Deployments("default").Apply(b.Context(), desired,
		metav1.ApplyOptions{FieldManager: FieldManager})
	if err != nil {
		b.Fatal(err)
	}
	for name, extract := range map[string]func(*appsv1.Deployment, string) (*appsv1ac.DeploymentApplyConfiguration, error){
		"ours": Deployments.Extract, "client-go": appsv1ac.ExtractDeployment,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := extract(deployment, FieldManager); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
