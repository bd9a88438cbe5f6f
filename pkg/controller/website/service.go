package website

import (
	"context"
	"time"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

const (
	// portRelease is how long the API server may take to release the node port of a
	// Service after it has reported its deletion.
	portRelease = 3 * time.Second
	// portRetry is the first interval of the tries to get the node port back. It doubles.
	portRetry = 100 * time.Millisecond
)

func (r *reconciler) ensureService(ctx context.Context, input *status.Input,
	desired desiredChildren) (service *cached.Service, p *problem.Problem) {
	ctx, end := r.tracer.startStep(ctx, stepService)
	defer func() { end(p) }()

	services, website := r.children.Services, input.Website
	current, p := findChild(ctx, services, website, desired, resources.ServiceName(website))
	if p != nil {
		return nil, p
	}
	if port := resources.NodePortToRestore(website); current != nil || port == 0 {
		r.memory.of(website).portRefused = time.Time{}
	} else if current, p = r.restoreService(ctx, input, port); p != nil {
		return nil, p
	}
	if current != nil {
		// The Service is returned, because it serves until it is gone.
		if p := services.BeingDeleted(current); p != nil {
			return current, p
		}
	}
	service, done, p := services.Apply(ctx, website, current,
		workload.Service(website, input.Deployment, current, input.PodSelector))
	if p != nil {
		return nil, p // One that could not be written may have addresses that are not wanted.
	}
	// Its first creation needs no event: it is created together with the Deployment.
	if done != children.Created || website.Status.ObservedGeneration != 0 {
		r.events.ChildWritten(website, service, services, done)
	}
	return service, nil
}

// ensurePodDisruptionBudget applies the PodDisruptionBudget of a Website with several pods, and
// deletes it from a Website with a single one.
func (r *reconciler) ensurePodDisruptionBudget(ctx context.Context, input *status.Input,
	desired desiredChildren) (p *problem.Problem) {
	ctx, end := r.tracer.startStep(ctx, stepPodDisruptionBudget)
	defer func() { end(p) }()

	budgets, website := r.children.PodDisruptionBudgets, input.Website
	name := resources.PodDisruptionBudgetName(website)
	if !resources.WantsPodDisruptionBudget(website) {
		_, p := budgets.Delete(ctx, website, name)
		return p
	}
	current, p := findChild(ctx, budgets, website, desired, name)
	if p != nil {
		return p
	}
	budget, done, p := budgets.Apply(ctx, website, current,
		workload.PodDisruptionBudget(website, input.Deployment, current, input.PodSelector))
	// Its creation needs no event: it is created together with the second pod.
	if done != children.Created {
		r.events.ChildWritten(website, budget, budgets, done)
	}
	return p
}

// restoreService creates the Service with its former node port, or with any if that port is taken.
// The next apply leaves the port out and so gives up its ownership: the API server keeps the value,
// and other clients may change it.
func (r *reconciler) restoreService(ctx context.Context, input *status.Input, port int32) (*cached.Service,
	*problem.Problem) {
	build := func() *corev1ac.ServiceApplyConfiguration {
		return workload.Service(input.Website, input.Deployment, nil, input.PodSelector)
	}
	services, website := r.children.Services, input.Website
	service, done, p := services.Apply(ctx, website, nil, resources.WithNodePort(build(), port))
	isTaken := p != nil && p.Reason == v1beta1.WebsiteReasonNodePortTaken
	if isTaken && r.waitForPort(website) {
		return nil, p.RetriedSoon()
	}
	isLost := isTaken || p != nil && p.Reason == v1beta1.WebsiteReasonSpecInvalid
	if isLost {
		service, done, p = services.Apply(ctx, website, nil, build())
	}
	if p != nil {
		return nil, p
	}
	r.memory.of(website).portRefused = time.Time{}
	r.events.ChildWritten(website, service, services, done)
	if isLost {
		r.events.NodePortLost(website, service, port)
	}
	return service, nil
}

// waitForPort queues a Website whose node port is rejected, and reports false once the API server
// must have released it. No worker waits, because any tenant can take the port of a Service and
// delete that.
func (r *reconciler) waitForPort(website *v1beta1.Website) bool {
	now, known := r.clock.Now(), r.memory.of(website)
	if known.portRefused.IsZero() {
		known.portRefused = now
	}
	refused := now.Sub(known.portRefused)
	if refused >= portRelease {
		return false
	}
	// This delay is independent of the backoff, which other problems of the Website may have
	// increased.
	r.statuses.queue.AddAfter(cache.MetaObjectToName(website), portRetry+refused)
	return true
}
