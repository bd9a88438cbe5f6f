package framework

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StartQuota creates a ResourceQuota and returns when it is enforced. Admission reads quotas by a
// watch of its own, which may be later than the status. So the quota allows no Secret either, and a
// dry run of creating one proves that it is enforced.
func StartQuota(t *testing.T, namespace, name string, hard corev1.ResourceList) *corev1.ResourceQuota {
	t.Helper()
	hard = maps.Clone(hard)
	hard["count/secrets"] = resource.MustParse("0")
	core := Admin(t).Kubernetes.CoreV1()
	quota, err := core.ResourceQuotas(namespace).Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	WaitFor(t, fmt.Sprintf("quota %q holds", name), func(ctx context.Context) error {
		tried := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "tried"}}
		_, err := core.Secrets(namespace).Create(ctx, tried, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: "+name) {
			return fmt.Errorf("trying to create a Secret: %v, want the quota exceeded", err)
		}
		return nil
	})
	return quota
}
