package website

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/metrics"
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

// restoreService creates the Service with the node port that it had, or with any
// when that one is taken. The next apply leaves the port out and so gives up its
// ownership: the API server keeps the value, and other clients may change it.
func (r *reconciler) restoreService(ctx context.Context, found *status.Input, port int32) (*corev1.Service, *problem.Problem) {
	build := func() *corev1ac.ServiceApplyConfiguration {
		return workload.Service(found.Website, found.Deployment, nil, found.PodSelector)
	}
	services, website := r.children.Services, found.Website
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
	metrics.RecordChildWrite(services, done)
	r.events.ChildWritten(website, service, services, done)
	if isLost {
		r.events.NodePortLost(website, service, port)
	}
	return service, nil
}

// waitForPort has a Website reconciled again whose node port is refused, and reports false once
// the API server must have released it. No worker waits, because any tenant can take the port of
// a Service and delete that.
func (r *reconciler) waitForPort(website *v1beta1.Website) bool {
	now, known := r.clock.Now(), r.memory.of(website)
	if known.portRefused.IsZero() {
		known.portRefused = now
	}
	refused := now.Sub(known.portRefused)
	if refused >= portRelease {
		return false
	}
	// Beside the backoff, which other problems of the Website may have made longer.
	r.statuses.queue.AddAfter(cache.MetaObjectToName(website), portRetry+refused)
	return true
}
