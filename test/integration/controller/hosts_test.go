package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/app"
	"github.com/kubesites/website-apiserver/test/framework"
)

// discoveryPeriod is shorter than the default to make the tests faster.
const discoveryPeriod = time.Second

const hostsCommit = "0123456789012345678901234567890123456789"

func withHosts(hosts ...string) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) { w.Spec.Hosts = framework.Hosts(hosts...) }
}

func throughGateway(namespace, name string) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) {
		w.Spec.Routing.ParentRefs = append(w.Spec.Routing.ParentRefs,
			v1beta1.ParentReference{Namespace: namespace, Name: name})
	}
}

func withCertificate(w *v1beta1.Website) {
	w.Spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeSecret, SecretRef: &v1beta1.SecretReference{Name: "certificate"}}
}

// TestHosts installs and removes Gateway API while the controller runs. Afterwards Gateway API is
// installed for later tests.
func TestHosts(t *testing.T) {
	framework.RemoveGatewayAPI(t)
	stopController(t)
	framework.StartController(t, app.Instruments{DiscoveryPeriod: discoveryPeriod},
		append(controllerFlags(t), "--commit-observation=None")...)
	begun, audited := time.Now(), framework.AuditLength(t, "kube-apiserver")
	namespace := framework.NewNamespace(t)
	edge := framework.NewEdge(t, hostsCommit)
	expires := time.Now().Add(48 * time.Hour).Truncate(time.Second)
	edge.Present(t, expires, "shop.example.test", "www.example.test")

	shop := framework.MustCreate(t, framework.NewWebsite(namespace, "shop", withHosts("shop.example.test"),
		throughGateway(namespace, "edge"), withCertificate))
	plain := framework.MustCreate(t, framework.NewWebsite(namespace, "plain", withHosts("plain.example.test")))

	t.Run("without Gateway API", func(t *testing.T) {
		framework.WaitCondition(t, namespace, "shop", v1beta1.WebsiteRouted, metav1.ConditionFalse,
			v1beta1.WebsiteReasonGatewayAPIMissing)
		framework.WaitCondition(t, namespace, "shop", v1beta1.WebsiteReady, metav1.ConditionTrue,
			v1beta1.WebsiteReasonServing)
		// Until Ingresses are listed, the reason is the same.
		waitRouted(t, plain, func(condition *metav1.Condition, _ *v1beta1.Website) error {
			if condition.Status != metav1.ConditionUnknown || condition.Reason != v1beta1.WebsiteReasonRoutePending ||
				!strings.Contains(condition.Message, "no class") {
				return fmt.Errorf("condition %+v, want that there is no class", condition)
			}
			return nil
		})
		ingress, err := framework.Admin(t).Kubernetes.NetworkingV1().Ingresses(namespace).Get(t.Context(), "plain",
			metav1.GetOptions{})
		if err != nil || len(ingress.Spec.Rules) != 1 || ingress.Spec.Rules[0].Host != "plain.example.test" {
			t.Errorf("the Ingress is %+v (%v), want one rule for the host", ingress, err)
		}
		service, err := framework.Admin(t).Kubernetes.CoreV1().Services(namespace).Get(t.Context(), "plain-npsvc",
			metav1.GetOptions{})
		if err != nil || service.Spec.Type != "ClusterIP" {
			t.Errorf("the Service is %+v (%v), want a ClusterIP", service.Spec, err)
		}
	})
	t.Run("half of Gateway API", func(t *testing.T) {
		framework.InstallGatewayAPI(t, "gateways")
		waitRouted(t, shop, func(condition *metav1.Condition, _ *v1beta1.Website) error {
			if !strings.Contains(condition.Message, "serves no httproutes") {
				return fmt.Errorf("condition %+v", condition)
			}
			return nil
		})
	})

	t.Run("few requests meanwhile", func(t *testing.T) { checkDiscovery(t, audited, time.Since(begun)) })

	framework.InstallGatewayAPI(t)
	t.Run("without the Gateway", func(t *testing.T) {
		framework.WaitCondition(t, namespace, "shop", v1beta1.WebsiteRouted, metav1.ConditionFalse,
			v1beta1.WebsiteReasonGatewayNotFound)
	})
	t.Run("before its controller", func(t *testing.T) {
		framework.NewGateway(t, namespace, "edge", edge.HTTPPort, edge.HTTPSPort)
		framework.WaitCondition(t, namespace, "shop", v1beta1.WebsiteRouted, metav1.ConditionUnknown,
			v1beta1.WebsiteReasonRoutePending)
	})

	framework.ActAsGateway(t, namespace, "127.0.0.1")
	url := fmt.Sprintf("https://shop.example.test:%d", edge.HTTPSPort)
	t.Run("requests reach the site", func(t *testing.T) {
		waitRouted(t, shop, func(condition *metav1.Condition, w *v1beta1.Website) error {
			if condition.Status != metav1.ConditionTrue || len(w.Status.URLs) == 0 || w.Status.URLs[0] != url {
				return fmt.Errorf("condition %+v, urls %v", condition, w.Status.URLs)
			}
			if host := w.Status.Hosts[0]; !meta.IsStatusConditionTrue(host.Conditions, v1beta1.HostRouted) ||
				host.CertificateExpirationTime == nil || !host.CertificateExpirationTime.Time.Equal(expires) {
				return fmt.Errorf("hosts %+v, want a certificate until %s", w.Status.Hosts, expires)
			}
			return nil
		})
	})
	t.Run("repeated reconciliations write nothing", func(t *testing.T) { checkQuiet(t, shop) })
	t.Run("requests reach the site at two Gateways", func(t *testing.T) { testTwoGateways(t, namespace, edge) })
	t.Run("another certificate", func(t *testing.T) {
		edge.Present(t, expires, "other.example.test")
		reprobe(t, shop)
		framework.WaitCondition(t, namespace, "shop", v1beta1.WebsiteRouted, metav1.ConditionFalse,
			v1beta1.WebsiteReasonCertificateInvalid)
		edge.Present(t, expires, "shop.example.test", "www.example.test")
	})
	t.Run("another site", func(t *testing.T) {
		edge.Serve("")
		reprobe(t, shop)
		condition := framework.WaitCondition(t, namespace, "shop", v1beta1.WebsiteRouted, metav1.ConditionFalse,
			v1beta1.WebsiteReasonHostUnreachable)
		if !strings.Contains(condition.Message, "shop.example.test") {
			t.Errorf("the condition says %q, want the host in it", condition.Message)
		}
		framework.WaitCondition(t, namespace, "shop", v1beta1.WebsiteReady, metav1.ConditionTrue,
			v1beta1.WebsiteReasonServing)
		if urls := framework.MustGet(t, shop).Status.URLs; len(urls) == 0 || strings.HasPrefix(urls[0], "https://") {
			t.Errorf("the URLs are %v, want the node port's first", urls)
		}
		edge.Serve(hostsCommit)
	})
	t.Run("a host of another Website", func(t *testing.T) { testTakenHost(t, shop) })
	t.Run("every shape is valid", func(t *testing.T) { testShapes(t, namespace) })
	t.Run("a foreign route", func(t *testing.T) { testForeignRoute(t, namespace) })
	t.Run("a certificate at a Gateway without TLS", func(t *testing.T) { testGatewayWithoutTLS(t, namespace) })
	t.Run("Gateway API removed", func(t *testing.T) {
		framework.RemoveGatewayAPI(t)
		framework.WaitCondition(t, namespace, "shop", v1beta1.WebsiteRouted, metav1.ConditionFalse,
			v1beta1.WebsiteReasonGatewayAPIMissing)
		framework.WaitCondition(t, namespace, "shop", v1beta1.WebsiteReady, metav1.ConditionTrue,
			v1beta1.WebsiteReasonServing)
	})
	framework.InstallGatewayAPI(t)
}

// waitRouted waits until check accepts the condition Routed of a Website.
func waitRouted(t *testing.T, w *v1beta1.Website, check func(*metav1.Condition, *v1beta1.Website) error) {
	t.Helper()
	framework.WaitFor(t, "the condition Routed of Website "+w.Name, func(ctx context.Context) error {
		current, err := framework.Websites(t, w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		condition := meta.FindStatusCondition(current.Status.Conditions, v1beta1.WebsiteRouted)
		if condition == nil {
			return errors.New("there is no such condition")
		}
		return check(condition, current)
	})
}

// checkDiscovery counts the controller's requests for Gateway API in the audit log since an offset:
// one in each period and for each missing kind, and the others are listed and watched once.
func checkDiscovery(t *testing.T, from int64, elapsed time.Duration) {
	t.Helper()
	requests := map[types.UID]string{} // A watch has several events.
	for _, event := range framework.AuditEvents(t, "kube-apiserver", from) {
		if event.User.Username == framework.ControllerUser &&
			strings.HasPrefix(event.RequestURI, "/apis/"+gatewayv1.GroupName) {
			requests[event.AuditID] = event.Verb + " " + event.RequestURI
		}
	}
	if most := 3*int(elapsed/discoveryPeriod+2) + 4; len(requests) == 0 || len(requests) > most {
		t.Errorf("%d requests within %s, want some and %d at most: %q", len(requests), elapsed, most, requests)
	}
}

// reprobe changes a Website in a way that makes the controller probe its hosts again.
func reprobe(t *testing.T, w *v1beta1.Website) {
	t.Helper()
	framework.Kubectl(t, "patch", "website", w.Name, "-n", w.Namespace, "--type=merge", "-p",
		fmt.Sprintf(`{"spec":{"polling":{"timeoutSeconds":%d}}}`, 60+framework.MustGet(t, w).Generation))
}

// checkQuiet makes the controller reconcile a Website with unchanged routes, and checks that no
// route is written.
func checkQuiet(t *testing.T, w *v1beta1.Website) {
	t.Helper()
	// Others write the status at any time. Each write of the controller is in the audit log.
	versions := func() []string {
		routes, err := framework.GatewayAPI(t).GatewayV1().HTTPRoutes(w.Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		sets, err := framework.GatewayAPI(t).GatewayV1().ListenerSets(w.Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var versions []string
		for _, route := range routes.Items {
			versions = append(versions, fmt.Sprint(route.Name, " ", route.UID, " ", route.Generation))
		}
		for _, set := range sets.Items {
			versions = append(versions, fmt.Sprint(set.Name, " ", set.UID, " ", set.Generation))
		}
		return versions
	}
	from, before := framework.AuditLength(t, "kube-apiserver"), versions()
	reprobe(t, w)
	framework.WaitCondition(t, w.Namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionTrue,
		v1beta1.WebsiteReasonServing)
	if after := versions(); !slices.Equal(before, after) {
		t.Errorf("routes are %v, were %v", after, before)
	}
	for _, event := range framework.AuditEvents(t, "kube-apiserver", from) {
		isRead := slices.Contains([]string{"get", "list", "watch"}, event.Verb)
		if event.User.Username == framework.ControllerUser && !isRead &&
			event.ObjectRef.APIGroup == "gateway.networking.k8s.io" {
			t.Errorf("%s was written (%s) although nothing changed", event.RequestURI, event.Verb)
		}
	}
}
