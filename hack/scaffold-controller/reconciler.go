package main

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

type reconciler struct {
	client.Client
	scheme *runtime.Scheme
	// compareStatus skips status updates without a change.
	compareStatus bool
}

// Reconcile brings the children and the status of a Website to the desired state.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	website := &v1beta1.Website{}
	if err := r.Get(ctx, request.NamespacedName, website); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !website.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // Garbage collection deletes the children.
	}
	desired, err := childrenOf(website)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.ensureConfigMap(ctx, website, desired.nginx); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.ensureConfigMap(ctx, website, desired.agent); err != nil {
		return ctrl.Result{}, err
	}
	deployment, err := r.ensureDeployment(ctx, website, desired.deployment)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.ensureService(ctx, website, desired.service); err != nil {
		return ctrl.Result{}, err
	}

	before := website.Status.DeepCopy()
	setStatus(website, deployment)
	if r.compareStatus && equality.Semantic.DeepEqual(*before, website.Status) {
		return ctrl.Result{}, nil
	}
	if err := r.Status().Update(ctx, website); err != nil {
		return ctrl.Result{}, fmt.Errorf("writing the status: %w", err)
	}
	return ctrl.Result{}, nil
}

func (r *reconciler) ensureConfigMap(ctx context.Context, website *v1beta1.Website, desired *corev1.ConfigMap) error {
	current := &corev1.ConfigMap{ObjectMeta: nameOf(desired)}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, current, func() error {
		current.Data, current.Immutable = desired.Data, desired.Immutable
		return r.own(website, desired, current)
	})
	return err
}

func (r *reconciler) ensureDeployment(ctx context.Context, website *v1beta1.Website,
	desired *appsv1.Deployment) (*appsv1.Deployment, error) {
	current := &appsv1.Deployment{ObjectMeta: nameOf(desired)}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, current, func() error {
		if !equality.Semantic.DeepDerivative(desired.Spec, current.Spec) {
			current.Spec = desired.Spec
		}
		return r.own(website, desired, current)
	})
	return current, err
}

func (r *reconciler) ensureService(ctx context.Context, website *v1beta1.Website, desired *corev1.Service) error {
	current := &corev1.Service{ObjectMeta: nameOf(desired)}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, current, func() error {
		if !equality.Semantic.DeepDerivative(desired.Spec, current.Spec) {
			current.Spec.Type, current.Spec.Selector, current.Spec.Ports = desired.Spec.Type, desired.Spec.Selector,
				desired.Spec.Ports
		}
		return r.own(website, desired, current)
	})
	return err
}

// own sets the labels and the owner of a child.
func (r *reconciler) own(website *v1beta1.Website, desired, current client.Object) error {
	labels := maps.Clone(current.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, desired.GetLabels())
	current.SetLabels(labels)
	return ctrl.SetControllerReference(website, current, r.scheme)
}

// nameOf returns the name and namespace by which CreateOrUpdate looks up an object.
func nameOf(object client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}
}
