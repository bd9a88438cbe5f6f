package api

import (
	"context"
	"flag"
	"fmt"
	"testing"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

var migratedWebsites = flag.Int("migrated-websites", 20, "how many Websites TestStorageVersionMigration creates")

// TestStorageVersionMigration: the cluster's storage migration rewrites Websites, also one with
// very many field managers.
func TestStorageVersionMigration(t *testing.T) {
	const managers = 250
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	for i := range *migratedWebsites {
		framework.MustCreate(t, framework.NewWebsite(namespace, fmt.Sprintf("w%03d", i), framework.WithReplicas(0)))
	}
	giveManagers(t, namespace, "w000", managers)
	migrations := framework.Admin(t).Kubernetes.StoragemigrationV1().StorageVersionMigrations()
	migration := &storagemigrationv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{Name: "websites-of-a-test"},
		Spec: storagemigrationv1.StorageVersionMigrationSpec{
			Resource: metav1.GroupResource{Group: "mycontroller.nevermosby.io", Resource: "websites"},
		},
	}
	if _, err := migrations.Create(ctx, migration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := migrations.Delete(context.Background(), migration.Name, metav1.DeleteOptions{}); err != nil &&
			!apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	framework.WaitFor(t, "the migration has ended", func(ctx context.Context) error {
		current, err := migrations.Get(ctx, migration.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions := current.Status.Conditions
		failed := meta.FindStatusCondition(conditions, string(storagemigrationv1.MigrationFailed))
		if failed != nil && failed.Status == metav1.ConditionTrue {
			t.Fatalf("the migration failed: %s: %s", failed.Reason, failed.Message)
		}
		if !meta.IsStatusConditionTrue(conditions, string(storagemigrationv1.MigrationSucceeded)) {
			return fmt.Errorf("it has not succeeded: %+v", conditions)
		}
		return nil
	})
}

// giveManagers sets labels with a field manager each, as if all had applied them: so many requests
// would take a minute.
func giveManagers(t *testing.T, namespace, name string, managers int) {
	t.Helper()
	update := func(change func(w *v1beta1.Website)) (updated *v1beta1.Website) {
		// The controller writes the status meanwhile.
		if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			website, err := framework.Websites(t, namespace).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			change(website)
			updated, err = framework.Websites(t, namespace).Update(t.Context(), website, metav1.UpdateOptions{})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return updated
	}
	label := func(i int) string { return fmt.Sprintf("manager-%d", i) }
	update(func(w *v1beta1.Website) {
		w.Labels = map[string]string{}
		for i := range managers {
			w.Labels[label(i)] = ""
		}
	})
	// A changed label loses its managers, so they are set in a second write.
	updated := update(func(w *v1beta1.Website) {
		for i := range managers {
			w.ManagedFields = append(w.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: label(i), Operation: metav1.ManagedFieldsOperationApply, APIVersion: v1beta1.SchemeGroupVersion.String(),
				Time:       ptr.To(metav1.Now()),
				FieldsType: "FieldsV1",
				FieldsV1:   metav1.NewFieldsV1(fmt.Sprintf(`{"f:metadata": {"f:labels": {"f:%s": {}}}}`, label(i))),
			})
		}
	})
	if len(updated.ManagedFields) < managers {
		t.Fatalf("the Website has %d managers, want %d", len(updated.ManagedFields), managers)
	}
}
