package framework

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"
)

// gatewayDefinitions are the definitions of Gateway API that Websites use.
var gatewayDefinitions = []string{"gatewayclasses", "gateways", "httproutes", "listenersets"}

// definitionsOfGatewayAPI returns the directory of the definitions in the module that is linked
// into website-controller.
func definitionsOfGatewayAPI(t *testing.T) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api")
	list.Dir = Path()
	output, err := list.Output()
	if err != nil {
		t.Fatalf("finding the module of Gateway API: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(output)), "config", "crd", "standard")
}

// InstallGatewayAPI creates the definitions, and waits until they are served.
func InstallGatewayAPI(t *testing.T, definitions ...string) {
	t.Helper()
	if len(definitions) == 0 {
		definitions = gatewayDefinitions
	}
	directory := definitionsOfGatewayAPI(t)
	apply, wait := []string{"apply", "--server-side"}, []string{"wait", "--for=condition=Established"}
	for _, definition := range definitions {
		apply = append(apply, "--filename="+filepath.Join(directory, "gateway.networking.k8s.io_"+definition+".yaml"))
		wait = append(wait, "crd/"+definition+".gateway.networking.k8s.io")
	}
	Kubectl(t, apply...)
	Kubectl(t, wait...)
}

// RemoveGatewayAPI deletes the definitions and all their objects.
func RemoveGatewayAPI(t *testing.T) {
	t.Helper()
	remove := []string{"delete", "--ignore-not-found"}
	for _, definition := range gatewayDefinitions {
		remove = append(remove, "crd/"+definition+".gateway.networking.k8s.io")
	}
	Kubectl(t, remove...)
}

// GatewayAPI returns the administrator's client of Gateway API.
func GatewayAPI(t *testing.T) gatewayclient.Interface {
	t.Helper()
	client, err := gatewayclient.NewForConfig(unlimited(AdminConfig(t)))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// ActAsGateway acts as the controller of a GatewayClass until the test ends: it reports Gateways,
// ListenerSets and HTTPRoutes of a namespace as accepted and programmed. Gateways get the address.
func ActAsGateway(t *testing.T, namespace, address string) {
	t.Helper()
	client := GatewayAPI(t)
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			if err := acceptAll(ctx, client, namespace, address); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) &&
				!apierrors.IsNotFound(err) {
				t.Errorf("acting as the controller of Gateways: %v", err)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-stopped
	})
}

func acceptAll(ctx context.Context, client gatewayclient.Interface, namespace, address string) error {
	api := client.GatewayV1()
	gateways, err := api.Gateways(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range gateways.Items {
		gateway := &gateways.Items[i]
		if !setTrue(&gateway.Status.Conditions, gateway.Generation, "Accepted", "Programmed") &&
			len(gateway.Status.Addresses) > 0 {
			continue
		}
		gateway.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Type: new(gatewayv1.IPAddressType), Value: address}}
		if _, err := api.Gateways(namespace).UpdateStatus(ctx, gateway, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	sets, err := api.ListenerSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range sets.Items {
		if set := &sets.Items[i]; setTrue(&set.Status.Conditions, set.Generation, "Accepted", "Programmed") {
			if _, err := api.ListenerSets(namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
	}
	routes, err := api.HTTPRoutes(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range routes.Items {
		route := &routes.Items[i]
		changed := len(route.Status.Parents) != len(route.Spec.ParentRefs)
		if changed {
			route.Status.Parents = make([]gatewayv1.RouteParentStatus, len(route.Spec.ParentRefs))
		}
		for j, ref := range route.Spec.ParentRefs {
			parent := &route.Status.Parents[j]
			changed = setTrue(&parent.Conditions, route.Generation, "Accepted", "ResolvedRefs") || changed
			parent.ParentRef, parent.ControllerName = ref, "example.com/gateway"
		}
		if changed {
			if _, err := api.HTTPRoutes(namespace).UpdateStatus(ctx, route, metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// setTrue sets conditions of a generation, and reports whether one changed.
func setTrue(conditions *[]metav1.Condition, generation int64, kinds ...string) bool {
	changed := false
	for _, kind := range kinds {
		if meta.SetStatusCondition(conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind,
			ObservedGeneration: generation}) {
			changed = true
		}
	}
	return changed
}

// NewGateway creates a Gateway in a namespace, with an HTTP and an HTTPS listener at these
// ports, which allows ListenerSets.
func NewGateway(t *testing.T, namespace, name string, httpPort, httpsPort int32) {
	t.Helper()
	Kubectl(t, "create", "secret", "generic", name, "--type=kubernetes.io/tls", "--from-literal=tls.crt=",
		"--from-literal=tls.key=", "--namespace="+namespace)
	KubectlWith(t, Stdin(fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %[1]s}
spec:
  gatewayClassName: none
  allowedListeners: {namespaces: {from: All}}
  listeners:
    - {name: http, port: %[2]d, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
    - {name: https, port: %[3]d, protocol: HTTPS, allowedRoutes: {namespaces: {from: All}},
       tls: {certificateRefs: [{name: %[1]s}]}}
`, name, httpPort, httpsPort)), "apply", "--namespace="+namespace, "--filename=-")
}
