package routes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Resources of Gateway API.
const (
	gateways     = "gateways"
	httpRoutes   = "httproutes"
	listenerSets = "listenersets"
	ingresses    = "ingresses"
)

// servedAPI states which parts of Gateway API the cluster serves.
type servedAPI struct {
	// Missing is the reason why hosts cannot be routed by a Gateway; empty if they can.
	Missing string
	// ListenerSets is true if the cluster serves ListenerSets.
	ListenerSets bool
}

// discover returns the parts of Gateway API that the cluster serves. After an error they are unknown.
func discover(ctx context.Context, client discovery.DiscoveryInterfaceWithContext) (servedAPI, error) {
	served, err := client.ServerResourcesForGroupVersionWithContext(ctx, gatewayv1.GroupVersion.String())
	if apierrors.IsNotFound(err) {
		return withoutV1(ctx, client)
	}
	if err != nil {
		return servedAPI{}, fmt.Errorf("discovering %s: %w", gatewayv1.GroupVersion, err)
	}
	serves := func(resource string) bool {
		return slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == resource })
	}
	api := servedAPI{ListenerSets: serves(listenerSets)}
	for _, resource := range []string{gateways, httpRoutes} {
		if !serves(resource) {
			api.Missing = fmt.Sprintf("the cluster serves no %s in %s: install all definitions of Gateway API", resource,
				gatewayv1.GroupVersion)
		}
	}
	return api, nil
}

// withoutV1 names the other versions of Gateway API that the cluster serves.
func withoutV1(ctx context.Context, client discovery.DiscoveryInterfaceWithContext) (servedAPI, error) {
	groups, err := client.ServerGroupsWithContext(ctx)
	if err != nil {
		return servedAPI{}, fmt.Errorf("discovering API groups: %w", err)
	}
	for _, group := range groups.Groups {
		if group.Name != gatewayv1.GroupName {
			continue
		}
		var versions []string
		for _, version := range group.Versions {
			versions = append(versions, version.Version)
		}
		return servedAPI{Missing: fmt.Sprintf("the cluster serves Gateway API in %s, not in v1: install a later release",
			strings.Join(versions, ", "))}, nil
	}
	return servedAPI{Missing: "the cluster does not serve Gateway API: install its definitions"}, nil
}
