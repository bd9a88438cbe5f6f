package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestResourceQuota counts Websites like Pods: website-apiserver rejects creations beyond the
// quota, and kube-controller-manager subtracts deleted Websites.
func TestResourceQuota(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	const counted = corev1.ResourceName("count/websites.mycontroller.nevermosby.io")
	quotas := framework.Admin(t).Kubernetes.CoreV1().ResourceQuotas(namespace)
	// kube-controller-manager discovers new resources every 30 seconds. A quota that it has processed
	// before is counted by its next full run, minutes later; a new quota at once.
	framework.WaitFor(t, "kube-controller-manager counts Websites", func(ctx context.Context) error {
		quota, err := quotas.Get(ctx, "sites", metav1.GetOptions{})
		if err == nil && len(quota.Status.Hard) > 0 && len(quota.Status.Used) == 0 {
			err = quotas.Delete(ctx, "sites", metav1.DeleteOptions{})
		}
		if apierrors.IsNotFound(err) {
			_, err = quotas.Create(ctx, &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Name: "sites"},
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{counted: resource.MustParse("2")}},
			}, metav1.CreateOptions{})
		}
		if err == nil && len(quota.Status.Used) == 0 {
			err = fmt.Errorf("status = %+v", quota.Status)
		}
		return err
	})
	waitUsed := func(want int64) {
		t.Helper()
		framework.WaitFor(t, fmt.Sprintf("%d Websites are counted", want), func(ctx context.Context) error {
			quota, err := quotas.Get(ctx, "sites", metav1.GetOptions{})
			if err != nil {
				return err
			}
			used, ok := quota.Status.Used[counted]
			if !ok || used.Value() != want {
				return fmt.Errorf("status = %+v", quota.Status)
			}
			return nil
		})
	}
	waitUsed(0)
	websites := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace)

	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	if _, err := websites.Create(ctx, framework.NewV1alpha1(namespace, "dry"), dry); err != nil {
		t.Error(err)
	}
	// Both versions count, as they are one resource.
	first := framework.MustCreate(t, framework.NewV1alpha1(namespace, "first", framework.V1alpha1Replicas(0)))
	if _, err := framework.Admin(t).Websites.WebsiteV1beta1().Websites(namespace).Create(ctx,
		framework.NewWebsite(namespace, "second", framework.Detailed), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitUsed(2)

	_, err := websites.Create(ctx, framework.NewV1alpha1(namespace, "third"), metav1.CreateOptions{})
	want := fmt.Sprintf("exceeded quota: sites, requested: %s=1, used: %s=2, limited: %s=2", counted, counted, counted)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("the third Website: %v, want it forbidden: %s", err, want)
	}
	if err := websites.Delete(ctx, first.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitUsed(1)
	// Admission reads quotas from an informer, which may lag.
	framework.WaitFor(t, "a third Website fits into the quota", func(ctx context.Context) error {
		_, err := websites.Create(ctx, framework.NewV1alpha1(namespace, "third", framework.V1alpha1Replicas(0)),
			metav1.CreateOptions{})
		return err
	})
	waitUsed(2)
}
