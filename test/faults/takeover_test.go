package faults

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// originalKubia is a scenario.before: it creates the children of the original controller, which the
// Website does not own yet.
func originalKubia(ctx context.Context, w world) error {
	podLabels, options := map[string]string{"app": "website-nginx", "controller": kubia},
		metav1.CreateOptions{FieldManager: "original"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: kubia, Labels: podLabels},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: podLabels}},
	}
	deployment.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: podLabels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "nginx", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: 80}}},
			{Name: "git-sync", Image: "git-sync"},
		}}}
	if _, err := kube.AppsV1().Deployments(w.namespace).Create(ctx, deployment, options); err != nil {
		return err
	}
	if _, err := kube.CoreV1().Services(w.namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: kubia + "-npsvc",
			Labels: map[string]string{"app": "website", "controller": kubia}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Selector: podLabels, Ports: []corev1.ServicePort{
			{Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(80)},
		}},
	}, options); err != nil {
		return err
	}
	if err := createKubia(ctx, w); err != nil {
		return err
	}
	return waitUntil(ctx, func(ctx context.Context) error {
		site, err := w.get(ctx, kubia)
		if err != nil {
			return err
		}
		deployment, err := w.deployment(ctx, kubia)
		if err == nil && (deployment.Status.AvailableReplicas != 1 ||
			meta.FindStatusCondition(site.Status.Conditions, v1beta1.WebsiteReady).Reason != v1beta1.WebsiteReasonNameTaken) {
			err = fmt.Errorf("Deployment %+v, Website %+v", deployment.Status, site.Status)
		}
		return err
	})
}

// ownOriginal gives kubia the children of the original controller.
func ownOriginal(ctx context.Context, w world) error {
	site, err := w.get(ctx, kubia)
	if err != nil {
		return err
	}
	owner := fmt.Appendf(nil, `{"metadata":{"ownerReferences":[{"apiVersion":"mycontroller.nevermosby.io/v1alpha1",`+
		`"kind":"Website","name":%q,"uid":%q,"controller":true}]}}`, site.Name, site.UID)
	options := metav1.PatchOptions{FieldManager: "original"}
	_, service := kube.CoreV1().Services(w.namespace).Patch(ctx, kubia+"-npsvc", types.MergePatchType, owner, options)
	_, deployment := kube.AppsV1().Deployments(w.namespace).Patch(ctx, kubia, types.MergePatchType, owner, options)
	return errors.Join(service, deployment)
}

// takenOver returns an error until all objects of the original controller are gone.
func takenOver(ctx context.Context, w world) error {
	if err := kubiaSettled(ctx, w); err != nil {
		return err
	}
	deployment, err := w.deployment(ctx, kubia)
	if err != nil {
		return err
	}
	service, err := kube.CoreV1().Services(w.namespace).Get(ctx, kubia+"-npsvc", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if deployment.Spec.MinReadySeconds != 0 || service.Spec.Ports[0].TargetPort != intstr.FromString("http") {
		return fmt.Errorf("minReadySeconds %d, Service %+v", deployment.Spec.MinReadySeconds, service.Spec)
	}
	return nil
}
