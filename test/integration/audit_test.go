package integration

import (
	"context"
	"errors"
	"net/http"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// TestAuditLog expects website-apiserver to log who did what, under the name of
// the user whom the aggregator passes on and with the audit ID that
// kube-apiserver has logged the same request by.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), newNamespace(t)
	user := namespace + "-auditee"
	_, err := admin(t).kubernetes.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := cluster.UserConfig(user)
	if err != nil {
		t.Fatal(err)
	}
	ours, hosts := auditLength(t, "website-apiserver"), auditLength(t, "kube-apiserver")
	websites := newClients(t, config).websites.WebsiteV1beta1().Websites(namespace)
	waitFor(t, "the user may create Websites", func(ctx context.Context) error {
		_, err := websites.Create(ctx, newBetaWebsite(namespace, "kubia"), metav1.CreateOptions{})
		return err
	})
	if err := websites.Delete(ctx, "kubia", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	find := func(component string, from int64, matches func(auditv1.Event) bool) (found auditv1.Event) {
		t.Helper()
		waitFor(t, component+" has logged the request", func(context.Context) error {
			for _, event := range auditEvents(t, component, from) {
				if matches(event) {
					found = event
					return nil
				}
			}
			return errors.New("no such event")
		})
		return found
	}
	for verb, code := range map[string]int32{"create": http.StatusCreated, "delete": http.StatusOK} {
		event := find("website-apiserver", ours, func(e auditv1.Event) bool {
			return e.Verb == verb && e.ObjectRef != nil && e.ObjectRef.Namespace == namespace && e.ResponseStatus != nil && e.ResponseStatus.Code == code && e.User.Username == user
		})
		if ref := event.ObjectRef; ref.Resource != "websites" || ref.APIGroup != "mycontroller.nevermosby.io" || ref.Name != "kubia" {
			t.Errorf("%s is about %+v, want Website kubia", verb, ref)
		}
		find("kube-apiserver", hosts, func(e auditv1.Event) bool {
			return e.AuditID == event.AuditID && e.Verb == verb && e.User.Username == user
		})
	}
}
