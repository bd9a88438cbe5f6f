package website

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/metrics"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// defaultTakeoverReadySeconds is how long former pods stay after one that replaces them has become
// ready. Within it, the Service must lead to that one, and no node send requests to the former
// pods, which end at once when they are deleted. If the leader is killed in between, another
// one takes up to 25 seconds to go on: its lease expires after 15.
const defaultTakeoverReadySeconds = 45

// serviceDelay is how long a pod that replaces former ones is ready before the Service leads to
// it. What computes the endpoints may observe the pod later than this controller, and would find
// none that is ready.
const serviceDelay = 5 * time.Second

// servingPods returns the ready pods to which the Service leads, or is to lead.
func (r *reconciler) servingPods(found *status.Input) []*corev1.Pod {
	ready := found.ReadyPods()
	if !r.leadsToFormerPods(found.Website) {
		return ready
	}
	for _, pod := range ready {
		since := found.Now.Sub(workload.PodCondition(pod, corev1.PodReady).LastTransitionTime.Time)
		// The clock of a node that is ahead says nothing.
		if since < 0 || since >= serviceDelay {
			found.ServiceWaits = 0
			return ready
		}
		found.ServiceWaits = serviceDelay - since
	}
	return nil
}

// leadsToFormerPods reports whether the Service sends requests to pods of the controller before this one.
func (r *reconciler) leadsToFormerPods(website *v1beta1.Website) bool {
	service := r.children.Services.Held(website, resources.ServiceName(website))
	return service != nil && service.Spec.Selector[appsv1.DefaultDeploymentUniqueLabelKey] != ""
}

// keepFormerPods has the Service send requests to the pods of the controller before this
// one, and to no others. The pods that replace them match its selector as well, but answer
// at another port.
func (r *reconciler) keepFormerPods(ctx context.Context, found *status.Input) *problem.Problem {
	website, former := found.Website, children.IsFormer(found.Deployment)
	if found.Deployment == nil || !former && !r.leadsToFormerPods(website) || len(found.ReadyPods()) > 0 {
		return nil // The Service follows those that are ready.
	}
	// By owner: the original controller gives the Deployments of a Website the same selector, and leaves one
	// behind when deploymentName changes.
	pods, p := r.children.Takeover.ServingPods(ctx, found.Deployment, func(pod *corev1.Pod) bool {
		return workload.IsReady(pod) && workload.BelongsTo(pod, found.Deployment.Name)
	})
	if p != nil || len(pods) == 0 {
		return p
	}
	found.FormerPods = pods
	if !former {
		return nil // They are being replaced, and the Service leads to them until then.
	}
	revisions := workload.FormerRevisions(pods)
	if len(revisions) > 1 {
		return problem.BeingReplaced(found.Deployment.Name)
	}
	services := r.children.Services
	current, p := services.Find(ctx, website, resources.ServiceName(website))
	if p != nil || current == nil {
		return p // A missing one is created with the Deployment.
	}
	service, done, p := services.Apply(ctx, website, current, workload.FormerService(website, current, revisions.UnsortedList()[0]))
	if p != nil {
		return p
	}
	metrics.RecordChildWrite(services, done)
	r.events.ChildWritten(website, service, services, done)
	return nil
}

// prepareTakeover has the Deployment of the controller before this one ready for an apply.
func (r *reconciler) prepareTakeover(ctx context.Context, found *status.Input) *problem.Problem {
	deployment, p := r.children.Takeover.Prepare(ctx, found.Website, found.Deployment.Name, found.Now)
	if p != nil {
		return p
	}
	found.Deployment = deployment
	return nil
}

// leftBehind returns the problem that the controller before this one has made children of a Website under a former
// deploymentName, or nil. Its Services send requests to the pods of this controller as well, at the wrong port.
func (r *reconciler) leftBehind(website *v1beta1.Website) *problem.Problem {
	if r.unlabelled == nil {
		return nil
	}
	var objects []string
	for _, name := range r.unlabelled.Of(appsv1.SchemeGroupVersion.WithResource("deployments"), website) {
		if name != resources.DeploymentName(website) {
			objects = append(objects, "deployment/"+name)
		}
	}
	for _, name := range r.unlabelled.Of(corev1.SchemeGroupVersion.WithResource("services"), website) {
		if _, ok := resources.DeploymentNameOfService(name); ok && name != resources.ServiceName(website) {
			objects = append(objects, "service/"+name)
		}
	}
	if len(objects) == 0 {
		return nil
	}
	return problem.LeftBehind(website, objects)
}

// keepTakeover reports whether a Deployment still has pods of the controller before this
// one, or has just got its last.
func (r *reconciler) keepTakeover(found *status.Input) bool {
	return children.IsFormer(found.Deployment) ||
		found.Deployment.Spec.MinReadySeconds == r.takeoverReadySeconds && !workload.AvailabilityOf(found.Deployment).RolledOut
}
