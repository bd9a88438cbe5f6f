package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// testTakenHost creates a Website in another namespace with the host of an older one, which then
// gives the host up.
func testTakenHost(t *testing.T, older *v1beta1.Website) {
	elsewhere := framework.NewNamespace(t)
	younger := framework.MustCreate(t, framework.NewWebsite(elsewhere, "younger",
		withHosts("shop.example.test", "young.example.test"), throughGateway(older.Namespace, "edge"), withCertificate))
	condition := framework.WaitCondition(t, elsewhere, "younger", v1beta1.WebsiteRouted, metav1.ConditionFalse,
		v1beta1.WebsiteReasonHostTaken)
	if !strings.Contains(condition.Message, "shop.example.test") || strings.Contains(condition.Message, older.Namespace) ||
		strings.Contains(condition.Message, `"shop"`) {
		t.Errorf("the condition says %q, want the host and no name of another namespace", condition.Message)
	}
	hostsOfRoute := func(ctx context.Context) ([]gatewayv1.Hostname, error) {
		route, err := framework.GatewayAPI(t).GatewayV1().HTTPRoutes(elsewhere).Get(ctx, "younger", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return route.Spec.Hostnames, nil
	}
	framework.WaitFor(t, "the younger Website routes its other host only", func(ctx context.Context) error {
		hosts, err := hostsOfRoute(ctx)
		if err == nil && (len(hosts) != 1 || hosts[0] != "young.example.test") {
			err = fmt.Errorf("hosts %v", hosts)
		}
		return err
	})

	framework.Kubectl(t, "patch", "website", older.Name, "-n", older.Namespace, "--type=merge", "-p",
		`{"spec":{"hosts":[{"name":"www.example.test"}]}}`)
	framework.WaitFor(t, "the younger Website has the host", func(ctx context.Context) error {
		hosts, err := hostsOfRoute(ctx)
		if err == nil && len(hosts) != 2 {
			err = fmt.Errorf("hosts %v", hosts)
		}
		return err
	})
	framework.Kubectl(t, "delete", "website", younger.Name, "-n", elsewhere)
}

// testTwoGateways routes a site through two Gateways, one of them missing at first.
func testTwoGateways(t *testing.T, namespace string, edge *framework.Edge) {
	twice := framework.MustCreate(t, framework.NewWebsite(namespace, "twice",
		withHosts("www.example.test"), throughGateway(namespace, "edge"), throughGateway(namespace, "later"),
		withCertificate))
	condition := framework.WaitCondition(t, namespace, "twice", v1beta1.WebsiteRouted, metav1.ConditionFalse,
		v1beta1.WebsiteReasonGatewayNotFound)
	if !strings.Contains(condition.Message, `"later"`) {
		t.Errorf("the condition says %q, want the Gateway that is missing", condition.Message)
	}
	framework.WaitFor(t, "the other Gateway routes it", func(ctx context.Context) error {
		host, err := routedHost(ctx, t, twice)
		if err == nil && host.Status != metav1.ConditionTrue {
			err = fmt.Errorf("the host has the condition %+v", host)
		}
		return err
	})
	framework.NewGateway(t, namespace, "later", edge.HTTPPort, edge.HTTPSPort)
	waitRouted(t, twice, func(condition *metav1.Condition, _ *v1beta1.Website) error {
		if condition.Status != metav1.ConditionTrue {
			return fmt.Errorf("condition %+v", condition)
		}
		return checkRoutes(t.Context(), t, namespace, "twice", 2, 2, 0)
	})
	framework.Kubectl(t, "delete", "website", "twice", "-n", namespace)
}

// routedHost returns the condition of the only host of a Website.
func routedHost(ctx context.Context, t *testing.T, website *v1beta1.Website) (metav1.Condition, error) {
	t.Helper()
	current, err := framework.Websites(t, website.Namespace).Get(ctx, website.Name, metav1.GetOptions{})
	if err != nil {
		return metav1.Condition{}, err
	}
	if hosts := current.Status.Hosts; len(hosts) != 1 || len(hosts[0].Conditions) != 1 {
		return metav1.Condition{}, fmt.Errorf("hosts %+v, want one with one condition", hosts)
	}
	return current.Status.Hosts[0].Conditions[0], nil
}

// testShapes makes the API server check the schema and the rules of Gateway API for every form of
// children, and removes them again.
func testShapes(t *testing.T, namespace string) {
	var many []string
	for i := range 62 {
		many = append(many, fmt.Sprintf("h%d.many.example.test", i))
	}
	many = append(many, "*.many.example.test", strings.Repeat(strings.Repeat("a", 53)+".", 4)+"example.tes")
	issued := func(group, kind string) func(*v1beta1.Website) {
		return func(w *v1beta1.Website) {
			w.Spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeIssuer,
				IssuerRef: &v1beta1.IssuerReference{Group: group, Kind: kind, Name: "issuer"}}
		}
	}
	redirected := func(w *v1beta1.Website) {
		for i := range w.Spec.Hosts {
			w.Spec.Hosts[i].Role = v1beta1.HostRoleRedirect
		}
		w.Spec.Hosts[1].Role = v1beta1.HostRoleCanonical
	}
	ofListeners := func(w *v1beta1.Website) { w.Spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeListener} }
	notToHTTPS := func(w *v1beta1.Website) { w.Spec.TLS.Redirect = new(false) }
	section := func(w *v1beta1.Website) { w.Spec.Routing.ParentRefs[0].SectionName = "https" }
	gateway := throughGateway(namespace, "edge")
	framework.NewGateway(t, namespace, "second", 80, 443)
	second := throughGateway(namespace, "second")
	eight := func(w *v1beta1.Website) {
		for i := range 6 {
			name := fmt.Sprint("edge-", i)
			framework.NewGateway(t, namespace, name, 80, 443)
			throughGateway(namespace, name)(w)
		}
	}
	tests := map[string]struct {
		tweaks       []func(*v1beta1.Website)
		sets, routes int
	}{
		"gateway-alone": {tweaks: []func(*v1beta1.Website){withHosts("alone.example.test"), gateway}, routes: 1},
		"section": {tweaks: []func(*v1beta1.Website){withHosts("section.example.test"), gateway,
			section}, routes: 1},
		"redirected": {tweaks: []func(*v1beta1.Website){withHosts("a.example.test", "b.example.test"), gateway,
			redirected}, routes: 2},
		"issued": {tweaks: []func(*v1beta1.Website){withHosts("issued.example.test"), gateway, issued("", "")},
			sets: 1, routes: 2},
		"wildcard": {tweaks: []func(*v1beta1.Website){withHosts("*.wild.example.test", "any.wild.example.test"),
			gateway, withCertificate}, sets: 1, routes: 2},
		"as-many-as-can": {tweaks: []func(*v1beta1.Website){withHosts(many...), gateway, issued("", "ClusterIssuer"),
			redirected}, sets: 4, routes: 6},
		"not-to-https": {tweaks: []func(*v1beta1.Website){withHosts("clear-and-secure.example.test"), gateway,
			withCertificate, notToHTTPS}, sets: 1, routes: 1},
		"tls-of-listeners": {tweaks: []func(*v1beta1.Website){withHosts("listener.example.test"), gateway,
			ofListeners}, routes: 2},
		"two-gateways": {tweaks: []func(*v1beta1.Website){withHosts("two.example.test"), gateway, second,
			withCertificate}, sets: 2, routes: 3},
		"eight-gateways": {
			tweaks: []func(*v1beta1.Website){withHosts("a.eight.example.test", "b.eight.example.test", "c.eight.example.test"),
				gateway, second, eight, withCertificate}, sets: 16, routes: 6,
		},
		"ingress": {tweaks: []func(*v1beta1.Website){withHosts("ingress.example.test", "*.ingress.example.test"),
			issued("awspca.cert-manager.io", "AWSPCAIssuer")}},
		"ingress-of-class": {tweaks: []func(*v1beta1.Website){withHosts("class.example.test"),
			func(w *v1beta1.Website) { w.Spec.Routing.IngressClassName = "nginx" }}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			framework.MustCreate(t, framework.NewWebsite(namespace, name, test.tweaks...))
			wait := func(what string, sets, routes, ingresses int) {
				t.Helper()
				framework.WaitFor(t, what, func(ctx context.Context) error {
					return checkRoutes(ctx, t, namespace, name, sets, routes, ingresses)
				})
			}
			ingresses := 0
			if test.routes == 0 {
				ingresses = 1
			}
			wait("the children are written", test.sets, test.routes, ingresses)
			framework.Kubectl(t, "patch", "website", name, "-n", namespace, "--type=merge", "-p",
				`{"spec":{"hosts":null,"routing":null,"tls":null}}`)
			wait("the children are removed", 0, 0, 0)
		})
	}
}

// checkRoutes counts the children of a Website.
func checkRoutes(ctx context.Context, t *testing.T, namespace, website string, sets, routes, ingresses int) error {
	options := metav1.ListOptions{LabelSelector: "controller=" + website}
	api := framework.GatewayAPI(t).GatewayV1()
	gotSets, err := api.ListenerSets(namespace).List(ctx, options)
	if err != nil {
		return err
	}
	gotRoutes, err := api.HTTPRoutes(namespace).List(ctx, options)
	if err != nil {
		return err
	}
	gotIngresses, err := framework.Admin(t).Kubernetes.NetworkingV1().Ingresses(namespace).List(ctx, options)
	if err != nil {
		return err
	}
	if len(gotSets.Items) != sets || len(gotRoutes.Items) != routes || len(gotIngresses.Items) != ingresses {
		w, _ := framework.Websites(t, namespace).Get(ctx, website, metav1.GetOptions{})
		return fmt.Errorf("%d ListenerSets, %d HTTPRoutes and %d Ingresses, want %d, %d and %d; conditions %+v",
			len(gotSets.Items), len(gotRoutes.Items), len(gotIngresses.Items), sets, routes, ingresses, w.Status.Conditions)
	}
	return nil
}

// testForeignRoute creates a route of another client under the name that a Website needs.
func testForeignRoute(t *testing.T, namespace string) {
	routes := framework.GatewayAPI(t).GatewayV1().HTTPRoutes(namespace)
	foreign, err := routes.Create(t.Context(), &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Name: "foreign"},
		Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "edge"}}},
			Hostnames:       []gatewayv1.Hostname{"other.example.test"},
		}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.MustCreate(t, framework.NewWebsite(namespace, "foreign", withHosts("foreign.example.test"),
		throughGateway(namespace, "edge")))
	condition := framework.WaitCondition(t, namespace, "foreign", v1beta1.WebsiteRouted, metav1.ConditionFalse,
		v1beta1.WebsiteReasonRouteNotWritten)
	if !strings.Contains(condition.Message, "HTTPRoute") {
		t.Errorf("the condition says %q, want the kind and the name", condition.Message)
	}
	framework.WaitCondition(t, namespace, "foreign", v1beta1.WebsiteReady, metav1.ConditionTrue,
		v1beta1.WebsiteReasonServing)
	if current, err := routes.Get(t.Context(), "foreign", metav1.GetOptions{}); err != nil ||
		current.Generation != foreign.Generation || current.UID != foreign.UID {
		t.Errorf("the route of the other client is %+v (%v), want it as it was", current, err)
	}
}

// testGatewayWithoutTLS sets the certificate of a Website behind a Gateway without a listener for
// it: from then on, no plain HTTP is served.
func testGatewayWithoutTLS(t *testing.T, namespace string) {
	const name = "clear"
	if _, err := framework.GatewayAPI(t).GatewayV1().Gateways(namespace).Create(t.Context(), &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: gatewayv1.GatewaySpec{GatewayClassName: "any",
			Listeners: []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.MustCreate(t, framework.NewWebsite(namespace, name, withHosts("clear.example.test"),
		throughGateway(namespace, name)))
	framework.WaitFor(t, "it is routed", func(ctx context.Context) error {
		return checkRoutes(ctx, t, namespace, name, 0, 1, 0)
	})
	framework.Kubectl(t, "patch", "website", name, "-n", namespace, "--type=merge", "-p",
		`{"spec":{"tls":{"mode":"Secret","secretRef":{"name":"certificate"}}}}`)
	framework.WaitFor(t, "the route is removed",
		func(ctx context.Context) error { return checkRoutes(ctx, t, namespace, name, 0, 0, 0) })
	condition := framework.WaitCondition(t, namespace, name, v1beta1.WebsiteRouted, metav1.ConditionFalse,
		v1beta1.WebsiteReasonRouteNotAccepted)
	if !strings.Contains(condition.Message, "allows no ListenerSets") {
		t.Errorf("the condition says %q, want the missing listener of the Gateway", condition.Message)
	}
}
