package website

import (
	"context"
	"time"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

const (
	// portRelease is the time that the API server may take to release the node port of a
	// Service after it has reported its deletion.
	portRelease = 3 * time.Second
	// portRetry is the first interval of the tries to get the node port back. It doubles.
	portRetry = 100 * time.Millisecond
)

// ensureService applies the Service and sets it in the observed state, unless it could not be written: it
// may then have addresses that are not wanted.
func (r *reconciler) ensureService(ctx context.Context, run *reconciliation) *problem.Problem {
	services, website := r.children.Services, run.website
	current, p := services.FindUnlessNew(ctx, website, resources.ServiceName(website), run.isNew)
	if p != nil {
		return p
	}
	if port := resources.NodePortToRestore(website); current != nil || port == 0 {
		run.memory.portRefused = time.Time{}
	} else if current, p = r.restoreService(ctx, run, port); p != nil {
		return p
	}
	if current != nil {
		if p := services.BeingDeleted(current); p != nil {
			run.input.Service = current // It serves until it is gone.
			return p
		}
	}
	service, done, p := services.Apply(ctx, website, current,
		workload.Service(website, run.input.Deployment, current, run.input.PodSelector))
	if p != nil {
		return p
	}
	// Its first creation needs no event: it is created together with the Deployment.
	if done != children.Created || website.Status.ObservedGeneration != 0 {
		r.events.ChildWritten(website, service, services, done)
	}
	run.input.Service = service
	return nil
}

// ensurePodDisruptionBudget applies the PodDisruptionBudget of a Website with several pods, and
// deletes it from a Website with a single one.
func (r *reconciler) ensurePodDisruptionBudget(ctx context.Context, run *reconciliation) *problem.Problem {
	budgets, website := r.children.PodDisruptionBudgets, run.website
	name := resources.PodDisruptionBudgetName(website)
	if !resources.WantsPodDisruptionBudget(website) {
		_, p := budgets.Delete(ctx, website, name)
		return p
	}
	current, p := budgets.FindUnlessNew(ctx, website, name, run.isNew)
	if p != nil {
		return p
	}
	budget, done, p := budgets.Apply(ctx, website, current,
		workload.PodDisruptionBudget(website, run.input.Deployment, current, run.input.PodSelector))
	// Its creation needs no event: it is created together with the second pod.
	if done != children.Created {
		r.events.ChildWritten(website, budget, budgets, done)
	}
	return p
}

// restoreService creates the Service with its former node port, or with any if that port is taken.
// The next apply leaves the port out and so gives up its ownership: the API server keeps the value,
// and other clients may change it.
func (r *reconciler) restoreService(ctx context.Context, run *reconciliation, port int32) (*cached.Service,
	*problem.Problem) {
	services, website := r.children.Services, run.website
	build := func() *corev1ac.ServiceApplyConfiguration {
		return workload.Service(website, run.input.Deployment, nil, run.input.PodSelector)
	}
	service, done, p := services.Apply(ctx, website, nil, resources.WithNodePort(build(), port))
	isTaken := p != nil && p.Reason == v1beta1.WebsiteReasonNodePortTaken
	if isTaken && r.waitForPort(run) {
		return nil, p.RetriedSoon()
	}
	isLost := isTaken || p != nil && p.Reason == v1beta1.WebsiteReasonSpecInvalid
	if isLost {
		service, done, p = services.Apply(ctx, website, nil, build())
	}
	if p != nil {
		return nil, p
	}
	run.memory.portRefused = time.Time{}
	r.events.ChildWritten(website, service, services, done)
	if isLost {
		r.events.NodePortLost(website, service, port)
	}
	return service, nil
}

// waitForPort queues a Website whose node port is rejected, and reports false once the API server
// must have released it. No worker waits, because any tenant can take the port of a Service and
// delete that.
func (r *reconciler) waitForPort(run *reconciliation) bool {
	now := r.clock.Now()
	if run.memory.portRefused.IsZero() {
		run.memory.portRefused = now
	}
	refused := now.Sub(run.memory.portRefused)
	if refused >= portRelease {
		return false
	}
	// This delay is independent of the backoff, which other problems of the Website may have
	// increased.
	r.queue.AddAfter(run.key, portRetry+refused)
	return true
}
