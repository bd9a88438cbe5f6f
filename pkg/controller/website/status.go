package website

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// observedStatus is what there is to say about a Website whose children were
// found to be these.
func observedStatus(site *v1beta1.Website, deployment *observedDeployment, service *corev1.Service) v1beta1.WebsiteStatus {
	// What is not observed here stays as it is.
	status := *site.Status.DeepCopy()
	status.ObservedGeneration = site.Generation
	// The scale subresource hands it to autoscalers, which select pods by it.
	status.Selector = resources.Selector(site)

	var pods appsv1.DeploymentStatus
	if deployment.found {
		pods = deployment.child.Status
	}
	status.Replicas = pods.Replicas
	status.UpdatedReplicas = pods.UpdatedReplicas
	status.ReadyReplicas = pods.ReadyReplicas
	status.AvailableReplicas = pods.AvailableReplicas

	if service != nil && len(service.Spec.Ports) > 0 {
		status.NodePort = service.Spec.Ports[0].NodePort
	}
	return status
}

// updateStatus writes the status of a Website when it differs from what is
// there. The write carries the resource version of the cached object, so it
// cannot undo a newer one.
func (c *Controller) updateStatus(ctx context.Context, site *v1beta1.Website, status v1beta1.WebsiteStatus) error {
	if apiequality.Semantic.DeepEqual(site.Status, status) {
		return nil
	}
	site = site.DeepCopy()
	site.Status = status
	_, err := c.websites.WebsiteV1beta1().Websites(site.Namespace).
		UpdateStatus(ctx, site, metav1.UpdateOptions{FieldManager: FieldManager})
	switch {
	case apierrors.IsNotFound(err):
		return nil // Deleted meanwhile.
	case err != nil:
		return fmt.Errorf("writing the status of Website %q: %w", site.Name, err)
	default:
		recordStatusWrite()
		return nil
	}
}
