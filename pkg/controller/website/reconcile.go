package website

import (
	"context"
	"slices"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/agentkeys"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/events"
	"github.com/kubesites/website-apiserver/pkg/controller/website/previews"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/rollout"
	"github.com/kubesites/website-apiserver/pkg/controller/website/routes"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/takeover"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// reconciler reconciles Websites and their children.
type reconciler struct {
	// websites includes the last writes; websiteIndex finds claimants.
	websites     cache.MutationCache
	websiteIndex cache.Indexer

	children *children.Children
	rollouts *rollout.Limit
	takeover *takeover.Takeover
	pods     *websitePods
	keys     *agentkeys.Keys

	// routes is nil if hosts are not routed.
	routes   *routes.Routes
	previews *previews.Previews

	installation resources.Installation

	memory   *memory
	events   *events.Reporter
	statuses *statusReporter
	tracer   tracer
	clock    clock.PassiveClock
}

// reconcile brings the children of a Website to their desired state and reports the result. The
// returned problems determine the next reconciliation.
func (r *reconciler) reconcile(ctx context.Context, key cache.ObjectName) []*problem.Problem {
	website := r.website(key)
	if website == nil || !website.DeletionTimestamp.IsZero() {
		// Garbage collection deletes the children; recreating one would delay it.
		r.forget(key)
		if website == nil {
			if p := r.ensureAgentKeys(ctx, key.Namespace); p != nil {
				return []*problem.Problem{p}
			}
		}
		return nil
	}

	writing, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	input, desired, problems := r.reconcileChildren(writing, website)
	problems = r.joinTaken(writing, website, problems)
	routing := r.reconcileRoutes(writing, input)
	previewing := r.reconcilePreviews(writing, input)
	r.prepareDeploys(input, problems)
	reported := problems
	if left := r.takeover.LeftBehind(website); left != nil {
		reported = append(slices.Clone(problems), left)
		if input != nil {
			input.LeftBehind = left.Message
		}
	}
	r.events.Report(website, reported)
	if p := r.statuses.report(ctx, input, problems); p != nil {
		problems = append(problems, p)
	}
	if len(problems) == 0 {
		// The site does not depend on it, so its problems are not reported.
		if p := r.collectConfigMaps(ctx, input, desired); p != nil {
			problems = append(problems, p)
		}
	}
	for _, p := range []*problem.Problem{routing, previewing} {
		if p != nil {
			problems = append(problems, p)
		}
	}
	return problems
}

// forget drops the state of a Website that is gone, or is being deleted.
func (r *reconciler) forget(key cache.ObjectName) {
	r.memory.forget(key)
	r.rollouts.Forget(key)
	r.pods.forget(key)
	r.routes.Forget(key)
}

// reconcileChildren returns the observed and written state, for the status: nil when it is unknown
// whether there is a Deployment. The desired children are only valid without problems.
func (r *reconciler) reconcileChildren(ctx context.Context, website *v1beta1.Website) (*status.Input, desiredChildren,
	[]*problem.Problem) {
	input, desired, p := r.claim(ctx, website)
	defer func() { r.rollouts.End(website, input) }()
	if p == nil {
		p = r.takeover.KeepFormerPods(ctx, input)
	}
	if p == nil && input.Deployment != nil {
		r.takeover.KeepReadySeconds(input, desired.deployment)
		p = r.rollouts.Hold(r.children.Deployments, input, desired.deployment)
	}
	if p != nil {
		return input, desired, []*problem.Problem{p}
	}
	var problems []*problem.Problem

	if p := r.ensurePods(ctx, input, desired); p != nil {
		problems = append(problems, p)
	}
	if input.Deployment == nil {
		return input, desired, problems
	}
	input.PodSelector = workload.ServingPodSelector(website, input.Deployment, r.takeover.ServingPods(input))

	// A Service without pods is useless, but a missing one in front of pods is recreated despite
	// other problems.
	if input.Service, p = r.ensureService(ctx, input, desired); p != nil {
		input.ServiceTaken = p.Reason == v1beta1.WebsiteReasonNameTaken
		input.ServiceMissing = !r.children.Services.Holds(website, resources.ServiceName(website))
		problems = append(problems, p)
	}
	if p := r.ensurePodDisruptionBudget(ctx, input, desired); p != nil {
		problems = append(problems, p)
	}
	return input, desired, problems
}

func (r *reconciler) reconcileRoutes(ctx context.Context, input *status.Input) (p *problem.Problem) {
	if input == nil || !r.routes.Concern(input.Website) {
		return nil
	}
	ctx, end := r.tracer.startStep(ctx, stepRoutes)
	defer func() { end(p) }()
	return r.routes.Reconcile(ctx, input, &r.memory.of(input.Website).handover)
}

func (r *reconciler) reconcilePreviews(ctx context.Context, input *status.Input) (p *problem.Problem) {
	if input == nil || !r.previews.Concern(input.Website) {
		return nil
	}
	ctx, end := r.tracer.startStep(ctx, stepPreviews)
	defer func() { end(p) }()
	return r.previews.Reconcile(ctx, input, &r.memory.of(input.Website).previewsTooOld)
}

// joinTaken merges the problems of all children whose names are taken into one. The first of them
// blocks the writes of the others, so that a user would see the next one only after having freed a
// name.
func (r *reconciler) joinTaken(
	ctx context.Context, website *v1beta1.Website, problems []*problem.Problem,
) []*problem.Problem {
	if !slices.ContainsFunc(problems, (*problem.Problem).IsChildTaken) {
		return problems
	}
	nginxConfig, err := resources.NginxConfig(website, r.installation)
	if err != nil {
		return problems // It is one of the problems.
	}
	taken := r.children.Taken(ctx, website, resources.ConfigMapName(website, nginxConfig))
	if len(taken) == 0 {
		return problems // A name became free, so the Website is reconciled again.
	}
	others := slices.DeleteFunc(problems, (*problem.Problem).IsChildTaken)
	return slices.Insert(others, 0, problem.JoinTaken(taken))
}

// website returns a Website from the cache, or as last written when that is newer; nil when there is
// none.
func (r *reconciler) website(key cache.ObjectName) *v1beta1.Website {
	obj, exists, err := r.websites.GetByKey(key.String())
	if website, ok := obj.(*v1beta1.Website); err == nil && exists && ok {
		return website
	}
	return nil
}

// prepareDeploys adds the remembered state to the observed state of a Website, sets the desired state
// of its pods, and queues it for the start of its next request to sync. With problems, the pods may
// still have an earlier spec.
func (r *reconciler) prepareDeploys(input *status.Input, problems []*problem.Problem) {
	if input == nil {
		return
	}
	website := input.Website
	deploys := r.memory.observe(website)
	deploys.Recall(input)
	input.Origin.SeenTime = r.pods.firstSeen(input)
	isReported := len(website.Status.History) > 0 && website.Status.History[0].Commit == website.Status.Commit
	if isReported && len(problems) == 0 && status.ServesSpec(input) {
		deploys.Served(website.Generation)
	}
	r.pods.want(website)
	if status.IsSyncPending(website.Status.Sync) {
		// The delay counts from input.Now, when the request could not start: by now it may, and no
		// event would follow.
		if wait := deploys.UntilStart(input.Now); wait > 0 {
			r.statuses.queue.AddAfter(cache.MetaObjectToName(website), wait)
		}
	}
}
