package website

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/agentkeys"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/events"
	"github.com/kubesites/website-apiserver/pkg/controller/website/metrics"
	"github.com/kubesites/website-apiserver/pkg/controller/website/previews"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/queue"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/rollout"
	"github.com/kubesites/website-apiserver/pkg/controller/website/routes"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/takeover"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
	websiteclient "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
)

// reconciler reconciles Websites and their children.
type reconciler struct {
	// client writes statuses. websites includes the last writes; websiteIndex finds claimants.
	client       websiteclient.WebsitesGetter
	websites     cache.MutationCache
	websiteIndex cache.Indexer
	queue        *queue.Queue

	children *children.Children
	rollouts *rollout.Limit
	takeover *takeover.Takeover
	pods     *websitePods
	keys     *agentkeys.Keys

	// routes is nil if hosts are not routed.
	routes   *routes.Routes
	previews *previews.Previews

	installation resources.Installation

	memory *memory
	events *events.Reporter
	// statusDelay is the constant, or less in tests.
	statusDelay time.Duration
	tracer      oteltrace.Tracer
	clock       clock.PassiveClock
}

// reconciliation is one reconciliation of a Website.
type reconciliation struct {
	key     cache.ObjectName
	website *v1beta1.Website
	memory  *remembered
	// isNew is true at the first attempt to create the children of a Website that has no Deployment.
	isNew bool
	// input is the observed and written state, for the status: nil when it is unknown whether there is a
	// Deployment.
	input *status.Input
	// desired is only valid without problems.
	desired desiredChildren
}

// step runs a step of a reconciliation, with a span below the span of the reconciliation, and measures
// its duration.
func (r *reconciler) step(ctx context.Context, name stepName, run *reconciliation,
	do func(context.Context, *reconciliation) *problem.Problem) *problem.Problem {
	start := r.clock.Now()
	ctx, span := r.tracer.Start(ctx, spanStepPrefix+string(name))
	defer span.End()
	p := do(ctx, run)
	metrics.RecordStep(string(name), problem.ResultOf(p), r.clock.Since(start))
	if p != nil {
		span.RecordError(p)
		if p.Result == problem.Failure {
			span.SetStatus(codes.Error, "the step failed")
		}
	}
	return p
}

// reconcile brings the children of a Website to their desired state and reports the result. The
// returned problems determine the next reconciliation.
func (r *reconciler) reconcile(ctx context.Context, key cache.ObjectName) []*problem.Problem {
	run := &reconciliation{key: key, website: r.website(key)}
	website := run.website
	if website == nil || !website.DeletionTimestamp.IsZero() {
		// Garbage collection deletes the children; recreating one would delay it.
		r.forget(key)
		if website == nil {
			if p := r.step(ctx, stepAgentKeys, run, r.ensureAgentKeys); p != nil {
				return []*problem.Problem{p}
			}
		}
		return nil
	}
	run.memory = r.memory.of(website)

	writing, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	problems := r.joinTaken(writing, website, r.reconcileChildren(writing, run))
	var apart []*problem.Problem
	if run.input != nil {
		apart = r.reconcileOthers(writing, run)
		r.prepareDeploys(run, problems)
	}
	reported := problems
	if left := r.takeover.LeftBehind(website); left != nil {
		reported = append(slices.Clone(problems), left)
		if run.input != nil {
			run.input.LeftBehind = left.Message
		}
	}
	r.events.Report(website, reported)
	if p := r.step(ctx, stepStatus, run, func(ctx context.Context, run *reconciliation) *problem.Problem {
		return r.report(ctx, run, problems)
	}); p != nil {
		problems = append(problems, p)
	}
	if len(problems) == 0 {
		// The site does not depend on it, so its problems are not reported.
		if p := r.step(ctx, stepCollectConfigMaps, run, r.collectConfigMaps); p != nil {
			problems = append(problems, p)
		}
	}
	return append(problems, apart...)
}

// forget drops the state of a Website that is gone, or is being deleted.
func (r *reconciler) forget(key cache.ObjectName) {
	r.memory.forget(key)
	r.rollouts.Forget(key)
	r.pods.forget(key)
	r.routes.Forget(key)
}

// reconcileChildren writes the children on which the site depends.
func (r *reconciler) reconcileChildren(ctx context.Context, run *reconciliation) (problems []*problem.Problem) {
	defer func() { r.rollouts.End(run.website, run.input) }()
	p := r.step(ctx, stepClaim, run, r.claim)
	if p == nil {
		p = r.takeover.KeepFormerPods(ctx, run.input)
	}
	if p == nil && run.input.Deployment != nil {
		r.takeover.KeepReadySeconds(run.input, run.desired.deployment)
		p = r.rollouts.Hold(r.children.Deployments, run.input, run.desired.deployment)
	}
	if p != nil {
		return []*problem.Problem{p}
	}
	if p := r.ensurePods(ctx, run); p != nil {
		problems = append(problems, p)
	}
	if run.input.Deployment == nil {
		return problems
	}
	run.input.PodSelector = workload.ServingPodSelector(run.website, run.input.Deployment,
		r.takeover.ServingPods(run.input))

	// A Service without pods is useless, but a missing one in front of pods is recreated despite
	// other problems.
	if p := r.step(ctx, stepService, run, r.ensureService); p != nil {
		run.input.ServiceTaken = p.Reason == v1beta1.WebsiteReasonNameTaken
		run.input.ServiceMissing = r.children.Services.Held(run.website, resources.ServiceName(run.website)) == nil
		problems = append(problems, p)
	}
	if p := r.step(ctx, stepPodDisruptionBudget, run, r.ensurePodDisruptionBudget); p != nil {
		problems = append(problems, p)
	}
	return problems
}

// ensurePods applies the Deployment and the ConfigMaps of its pods. While the rollout is pending, the
// pods stay as they are.
func (r *reconciler) ensurePods(ctx context.Context, run *reconciliation) *problem.Problem {
	isFormer := workload.IsFormer(run.input.Deployment)
	switch {
	case run.input.RolloutPending && isFormer:
		return nil
	case !run.input.RolloutPending:
		// The configuration is written before the pods, which would otherwise wait for it. If another
		// object has its name, the pods are not started.
		if p := r.step(ctx, stepConfigMap, run, r.ensureConfigMap); p != nil {
			return p
		}
		if isFormer {
			if p := r.takeover.Prepare(ctx, run.input); p != nil {
				return p
			}
		}
	}
	// The configuration of agents is not part of the pod template, and also applies to existing pods.
	if p := r.step(ctx, stepAgentKeys, run, r.ensureAgentKeys); p != nil {
		return p
	}
	if p := r.step(ctx, stepAgentConfigMap, run, r.ensureAgentConfigMap); p != nil {
		return p
	}
	return r.step(ctx, stepDeployment, run, r.ensureDeployment)
}

// reconcileOthers writes the routes of hosts and the previews. Their problems do not affect the site.
func (r *reconciler) reconcileOthers(ctx context.Context, run *reconciliation) (problems []*problem.Problem) {
	if r.routes.Concern(run.website) {
		if p := r.step(ctx, stepRoutes, run, r.reconcileRoutes); p != nil {
			problems = append(problems, p)
		}
	}
	if r.previews.Concern(run.website) {
		if p := r.step(ctx, stepPreviews, run, r.reconcilePreviews); p != nil {
			problems = append(problems, p)
		}
	}
	return problems
}

func (r *reconciler) reconcileRoutes(ctx context.Context, run *reconciliation) *problem.Problem {
	return r.routes.Reconcile(ctx, run.input, &run.memory.handover)
}

func (r *reconciler) reconcilePreviews(ctx context.Context, run *reconciliation) *problem.Problem {
	return r.previews.Reconcile(ctx, run.input, &run.memory.previewsTooOld)
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
func (r *reconciler) prepareDeploys(run *reconciliation, problems []*problem.Problem) {
	website, input, deploys := run.website, run.input, run.memory.deploys
	deploys.Observe(website, r.clock.Now())
	deploys.Recall(input)
	input.Origin.SeenTime = r.pods.firstSeen(input)
	if len(problems) == 0 && status.ReportsSpec(input) {
		deploys.Served(website.Generation)
	}
	r.pods.want(website)
	if status.IsSyncPending(website.Status.Sync) {
		// The delay counts from input.Now, when the request could not start: by now it may, and no
		// event would follow.
		if wait := deploys.UntilStart(input.Now); wait > 0 {
			r.queue.AddAfter(run.key, wait)
		}
	}
}
