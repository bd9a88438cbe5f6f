package website

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestNotReadyWhileAChildIsBeingDeleted: a Deployment that is being deleted is not updated, and its
// status counts outdated pods; the load balancer of a Service that is being deleted is removed. Both
// are created again when they are gone.
func TestNotReadyWhileAChildIsBeingDeleted(t *testing.T) {
	served := func(f *fixture) {
		edit(f, testDeployment, func(deployment *appsv1.Deployment) {
			deployment.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
				ObservedGeneration: deployment.Generation}
		})
	}
	const loadBalancer = "http://lb.example.com"
	for name, test := range map[string]struct {
		remove func(f *fixture)
		gone   func(f *fixture)
		want   string
	}{
		"Deployment": {
			remove: func(f *fixture) {
				edit(f, testDeployment, func(d *appsv1.Deployment) {
					d.DeletionTimestamp, d.Finalizers = ptr.To(metav1.Now()), []string{"example.com/backup"}
				})
			},
			gone: func(f *fixture) { f.remove(f.deployment()); f.syncCaches(); f.reconcile(testKey); served(f) },
			want: `Deployment "kubia-website" is being deleted; it is created again when it is gone`,
		},
		"Service": {
			remove: func(f *fixture) {
				edit(f, testDeployment+"-npsvc", func(s *corev1.Service) {
					s.DeletionTimestamp, s.Finalizers = ptr.To(metav1.Now()), []string{"service.kubernetes.io/load-balancer-cleanup"}
				})
			},
			gone: func(f *fixture) { f.remove(f.service()) },
			want: `Service "kubia-website-npsvc" is being deleted; it is created again when it is gone`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			website := newWebsite(func(w *v1beta1.Website) { w.Spec.Service.Type = v1beta1.ServiceTypeLoadBalancer })
			f := newFixture(t, website)
			f.converge(website)
			served(f)
			edit(f, testDeployment+"-npsvc", func(s *corev1.Service) {
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.com"}}
			})
			reconcile := func() *v1beta1.WebsiteStatus {
				f.syncCaches()
				f.reconcile(testKey)
				f.refreshWebsites()
				return &f.website(testName).Status
			}
			if status := reconcile(); !meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteReady) ||
				!slices.Contains(status.URLs, loadBalancer) {
				t.Fatalf("at first the status is %+v", status)
			}

			test.remove(f)
			changed := f.website(testName).DeepCopy()
			changed.Generation, changed.Spec.Source.Git.Ref = 2, &v1beta1.GitReference{Branch: "next"}
			f.store(changed)
			f.cacheWebsite(changed)
			f.events()
			status := reconcile()
			if ready := meta.FindStatusCondition(
				status.Conditions, v1beta1.WebsiteReady,
			); ready.Status != metav1.ConditionFalse || ready.ObservedGeneration != 2 || ready.Message != test.want {
				t.Errorf("Ready is %+v, want that it is False: %s", ready, test.want)
			}
			if !meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteReconciling) {
				t.Errorf("it is not Reconciling: %+v", status.Conditions)
			}
			if slices.Contains(status.URLs, loadBalancer) != (name == "Deployment") {
				t.Errorf("the URLs are %q", status.URLs)
			}
			if events := f.events(); slices.ContainsFunc(events,
				func(event string) bool { return strings.HasPrefix(event, corev1.EventTypeWarning) }) {
				t.Errorf("events: %q", events)
			}

			test.gone(f)
			reconcile() // It is created again.
			served(f)
			if status := reconcile(); !meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteReady) {
				t.Errorf("when it is back the conditions are %+v", status.Conditions)
			}
			if refs := f.deployment().Spec.Template.Spec.InitContainers; !slices.ContainsFunc(refs,
				func(c corev1.Container) bool {
					return slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasSuffix(arg, "refs/heads/next") })
				}) {
				t.Errorf("the Deployment does not follow the spec: %+v", refs)
			}
		})
	}
}
