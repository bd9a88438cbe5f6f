// Package takeover replaces the pods of the original controller while the Service sends requests to
// pods that can answer them. Server-side apply alone does not: it keeps fields that other clients
// have set, and rejects a container that would be in two lists.
package takeover

import (
	"cmp"
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/events"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/unlabelled"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// defaultReadySeconds is the time for which former pods stay after their replacement has become ready. Within
// that time, the Service must select the replacement, and nodes must stop sending requests to the
// former pods, which end immediately when they are deleted. If the leader is killed in between,
// another one takes up to 25 seconds to continue: its Lease expires after 15.
const defaultReadySeconds = 45

// serviceDelay is the time for which a replacement is ready before the Service selects it. The
// EndpointSlice controller may observe the pod later than this controller, and would find no ready
// pod.
const serviceDelay = 5 * time.Second

// Takeover replaces the pods of the original controller.
type Takeover struct {
	kube     kubernetes.Interface
	children *children.Children
	// unlabelled has the children that other clients have made. It may be nil.
	unlabelled *unlabelled.Watch
	events     *events.Reporter
	// readySeconds is the minReadySeconds of a Deployment during the takeover.
	readySeconds int32
}

// New returns a Takeover. If readySeconds is zero, former pods stay for the default time.
func New(
	kube kubernetes.Interface, ofWebsites *children.Children, unlabelled *unlabelled.Watch, events *events.Reporter,
	readySeconds int32,
) *Takeover {
	return &Takeover{
		kube: kube, children: ofWebsites, unlabelled: unlabelled, events: events,
		readySeconds: cmp.Or(readySeconds, defaultReadySeconds),
	}
}

// ServingPods returns the ready pods that the Service should select.
func (t *Takeover) ServingPods(input *status.Input) []*cached.Pod {
	ready := input.ReadyPods()
	if !t.leadsToFormerPods(input.Website) {
		return ready
	}
	for _, pod := range ready {
		since := input.Now.Sub(workload.PodCondition(pod, corev1.PodReady).LastTransitionTime.Time)
		// The clock of the node is ahead.
		if since < 0 || since >= serviceDelay {
			input.ServiceWaits = 0
			return ready
		}
		input.ServiceWaits = serviceDelay - since
	}
	return nil
}

// leadsToFormerPods reports whether the Service sends requests to pods of the original controller.
func (t *Takeover) leadsToFormerPods(website *v1beta1.Website) bool {
	service := t.children.Services.Held(website, resources.ServiceName(website))
	return service != nil && service.Selector.Set()[appsv1.DefaultDeploymentUniqueLabelKey] != ""
}

// KeepFormerPods makes the Service send requests only to the pods of the original controller. The
// replacements match its selector as well, but listen on another port.
func (t *Takeover) KeepFormerPods(ctx context.Context, input *status.Input) *problem.Problem {
	website, former := input.Website, workload.IsFormer(input.Deployment)
	if input.Deployment == nil || !former && !t.leadsToFormerPods(website) || len(input.ReadyPods()) > 0 {
		return nil // The Service follows those that are ready.
	}
	pods, p := t.formerPods(ctx, input.Deployment)
	if p != nil || len(pods) == 0 {
		return p
	}
	input.FormerPods = pods
	if !former {
		return nil // They are being replaced, and the Service leads to them until then.
	}
	revisions := workload.FormerRevisions(pods)
	if len(revisions) > 1 {
		return problem.BeingReplaced(input.Deployment.Name)
	}
	services := t.children.Services
	current, p := services.Find(ctx, website, resources.ServiceName(website))
	if p != nil || current == nil {
		return p // A missing one is created with the Deployment.
	}
	service, done, p := services.Apply(ctx, website, current,
		workload.FormerService(website, current, revisions.UnsortedList()[0]))
	if p != nil {
		return p
	}
	t.events.ChildWritten(website, service, services, done)
	return nil
}

// formerPods lists the ready pods of a Deployment from the API server: the informers omit pods of
// another controller. They are identified by their owner: the original controller gives all
// Deployments of a Website the same selector, and leaves the old one behind when deploymentName
// changes.
func (t *Takeover) formerPods(ctx context.Context, deployment *cached.Deployment) ([]*cached.Pod, *problem.Problem) {
	list, err := t.kube.CoreV1().Pods(deployment.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: string(deployment.Selector)})
	if err != nil {
		return nil, problem.ClassifyOther(fmt.Errorf("listing the pods of Deployment %q before it is taken over: %w",
			deployment.Name, err))
	}
	var former []*cached.Pod
	for i := range list.Items {
		if pod := cached.OfPod(&list.Items[i]); workload.IsReady(pod) && pod.Deployment == deployment.Name {
			former = append(former, pod)
		}
	}
	return former, nil
}

// LeftBehind returns a problem if the original controller has left children of a Website under a
// former deploymentName, or nil. Their Services send requests to the pods of this controller as well,
// at the wrong port.
func (t *Takeover) LeftBehind(website *v1beta1.Website) *problem.Problem {
	if t.unlabelled == nil {
		return nil
	}
	var objects []string
	for _, name := range t.unlabelled.Of(appsv1.SchemeGroupVersion.WithResource("deployments"), website) {
		if name != resources.DeploymentName(website) {
			objects = append(objects, "deployment/"+name)
		}
	}
	for _, name := range t.unlabelled.Of(corev1.SchemeGroupVersion.WithResource("services"), website) {
		if _, ok := resources.DeploymentNameOfService(name); ok && name != resources.ServiceName(website) {
			objects = append(objects, "service/"+name)
		}
	}
	if len(objects) == 0 {
		return nil
	}
	return problem.LeftBehind(website, objects)
}

// KeepReadySeconds keeps the minReadySeconds of a Deployment that still has pods of the original
// controller, or has just lost the last one.
func (t *Takeover) KeepReadySeconds(input *status.Input, desired *appsv1ac.DeploymentApplyConfiguration) {
	if workload.IsFormer(input.Deployment) ||
		input.Deployment.MinReadySeconds == t.readySeconds && !workload.AvailabilityOf(input.Deployment).RolledOut {
		desired.Spec.WithMinReadySeconds(t.readySeconds)
	}
}
