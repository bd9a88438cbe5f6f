package routes

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/client-go/tools/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// hasRoutes reports whether a Website has hosts, or had them when its status was written.
func hasRoutes(website *v1beta1.Website) bool {
	return len(website.Spec.Hosts) > 0 || len(website.Status.Hosts) > 0
}

// holdsRoutes reports whether the caches show routes of a Website.
func (r *Routes) holdsRoutes(website *v1beta1.Website) bool {
	return len(r.children.HTTPRoutes.Of(website)) > 0 || len(r.children.ListenerSets.Of(website)) > 0 ||
		len(r.children.Ingresses.Of(website)) > 0
}

// Concern reports whether a Website has, or should have, routes. Routes may be nil: then it returns
// false.
func (r *Routes) Concern(website *v1beta1.Website) bool {
	return r != nil && (hasRoutes(website) || r.holdsRoutes(website))
}

// Reconcile routes the hosts of a Website to its Service, and records the result in input. Its
// problems are reported by the condition Routed: the site does not depend on it. handover is the time
// since when the routes stay for another Website, or zero; it is kept for the next reconciliation.
func (r *Routes) Reconcile(ctx context.Context, input *status.Input, handover *time.Time) (p *problem.Problem) {
	website := input.Website
	r.router.want()
	state := r.router.current()
	if len(website.Spec.Hosts) > 0 {
		input.Routing = &status.Routing{Unknown: state.Unknown}
	}
	// The hosts in the status show a later reconciliation that there are routes to remove.
	isWaiting := false
	defer func() { input.RoutesRemain = p != nil || state.Unknown != "" || isWaiting }()
	switch {
	case state.Unknown != "":
		return nil
	case len(website.Spec.Hosts) > 0 && !r.hasService(input):
		// Routes to a Service of this name could lead to a Service of another owner.
		input.Routing.Obstacle = &status.Obstacle{Reason: v1beta1.WebsiteReasonRouteNotWritten,
			Message: "there is no Service to route to"}
		return nil
	}
	held, taken := r.heldHosts(website)
	if waits := r.handsOver(website, held, handover); waits != "" {
		isWaiting = true
		if input.Routing != nil {
			input.Routing.Unknown = waits
		}
		return nil
	}
	if input.Routing != nil {
		input.Routing.Taken = taken
	}
	if len(held) == 0 {
		r.prober.Forget(cache.MetaObjectToName(website))
		return r.deleteRoutes(ctx, website, desiredRoutes{}, keptHosts{})
	}
	way, isWay, missing := r.choose(website, state)
	if !isWay {
		input.Routing.Obstacle = missing
		r.prober.Forget(cache.MetaObjectToName(website))
		return r.deleteRoutes(ctx, website, desiredRoutes{}, keptHosts{obstructed: held, taken: taken})
	}
	return r.applyRoutes(ctx, input, way, held, missing)
}

// hasService reports whether there is a Service to route to. It need not be up to date.
func (r *Routes) hasService(input *status.Input) bool {
	return input.Service != nil ||
		input.Deployment != nil && !input.ServiceTaken &&
			r.children.Services.Held(input.Website, resources.ServiceName(input.Website)) != nil
}

// applyRoutes writes the children that route hosts in one way, and removes the others. missing is the
// reason why a Gateway of the spec is not part of the way, or nil.
func (r *Routes) applyRoutes(
	ctx context.Context, input *status.Input, way way, held []string, missing *status.Obstacle,
) *problem.Problem {
	website := input.Website
	secured, unrouted := way.secured(website, held, missing)
	desired := way.build(website, secured)
	written, p := r.writeRoutes(ctx, website, desired)
	if p != nil {
		if p.Reason != "" {
			input.Routing.Obstacle = &status.Obstacle{Reason: v1beta1.WebsiteReasonRouteNotWritten, Message: p.Message}
		}
		return p.RetriedApart()
	}
	obstacle, obstructed := written.obstacle(way), held
	if obstacle == nil {
		obstructed = slices.DeleteFunc(slices.Clone(held), func(host string) bool { return slices.Contains(secured, host) })
	}
	input.Routing.Obstacle = cmp.Or(unrouted, obstacle)
	input.Routing.NoRedirect = way.noRedirect(website, secured)
	input.Routing.UnusedCertificate = way.unusedCertificate(website, secured)
	if isStarting(input) {
		// A request now would fail, and delay the next one by the backoff.
		input.Routing.Obstacle = cmp.Or(input.Routing.Obstacle, &status.Obstacle{
			Reason: v1beta1.WebsiteReasonRoutePending, Message: "waiting for a pod to become available", Pending: true,
		})
	} else {
		key := cache.MetaObjectToName(website)
		again := input.Website.Generation != input.Website.Status.ObservedGeneration
		input.Routing.Results = r.prober.Want(key, way.target(website, secured, written), again)
	}
	return r.deleteRoutes(ctx, website, desired, keptHosts{obstructed: obstructed, taken: input.Routing.Taken})
}

// isStarting reports whether no pod of a Website is available, and none of its hosts was routed before.
func isStarting(input *status.Input) bool {
	return (input.Deployment == nil || input.Deployment.Status.AvailableReplicas == 0) &&
		!slices.ContainsFunc(input.Website.Status.Hosts, status.IsRouted)
}

// writtenRoutes are the children of a Website that route its hosts.
type writtenRoutes struct {
	listenerSets []*cached.ListenerSet
	httpRoutes   []*cached.HTTPRoute
	ingress      *cached.Ingress
}

func (w writtenRoutes) obstacle(way way) *status.Obstacle {
	if w.ingress != nil {
		return ingressObstacle(w.ingress)
	}
	var gateways []*gatewayv1.Gateway
	for i := range way.gateways {
		gateways = append(gateways, way.gateways[i].Gateway)
	}
	return obstacleOf(gateways, w.listenerSets, w.httpRoutes)
}

// writeRoutes writes listeners before the routes that name them.
func (r *Routes) writeRoutes(ctx context.Context, website *v1beta1.Website,
	desired desiredRoutes) (written writtenRoutes, p *problem.Problem) {
	for _, set := range desired.listenerSets {
		applied, p := ensureRoute(ctx, r, website, r.children.ListenerSets, set)
		if p != nil {
			return written, p
		}
		written.listenerSets = append(written.listenerSets, applied)
	}
	for _, route := range desired.httpRoutes {
		applied, p := ensureRoute(ctx, r, website, r.children.HTTPRoutes, route)
		if p != nil {
			return written, p
		}
		written.httpRoutes = append(written.httpRoutes, applied)
	}
	if desired.ingress != nil {
		written.ingress, p = ensureRoute(ctx, r, website, r.children.Ingresses, desired.ingress)
	}
	return written, p
}

func ensureRoute[S cached.Object, T cached.Kept, A cached.ApplyConfiguration[A]](ctx context.Context, r *Routes,
	website *v1beta1.Website, kind *children.Several[S, T, A], desired A) (T, *problem.Problem) {
	child, done, p := kind.Ensure(ctx, website, desired)
	if p != nil {
		return child, p
	}
	r.events.ChildWritten(website, child, kind, done)
	return child, nil
}

// deleteRoutes removes the children that route hosts, except the desired ones and the former routes
// of obstructed hosts: these stay until the desired routes work. Routes are removed before the
// listeners that they name.
func (r *Routes) deleteRoutes(ctx context.Context, website *v1beta1.Website, desired desiredRoutes,
	kept keptHosts) *problem.Problem {
	ingresses, httpRoutes := r.children.Ingresses.Of(website), r.children.HTTPRoutes.Of(website)
	if resources.RedirectsToHTTPS(website) {
		ingresses, httpRoutes = slices.DeleteFunc(ingresses, isPlainIngress),
			slices.DeleteFunc(httpRoutes, isPlain(r.router.gateway))
	}
	for _, kind := range []struct {
		deleteOthers func(context.Context, *v1beta1.Website, ...string) *problem.Problem
		names        []string
	}{
		{r.children.Ingresses.DeleteOthers, append(desired.ingressNames(), kept.ingresses(ingresses)...)},
		{r.children.HTTPRoutes.DeleteOthers, append(namesOf(desired.httpRoutes), kept.httpRoutes(httpRoutes)...)},
		{r.children.ListenerSets.DeleteOthers,
			append(namesOf(desired.listenerSets), kept.listenerSets(r.children.ListenerSets.Of(website))...)},
	} {
		if p := kind.deleteOthers(ctx, website, kind.names...); p != nil {
			return p.RetriedApart()
		}
	}
	return nil
}
