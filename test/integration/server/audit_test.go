package server

import (
	"context"
	"errors"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestAuditLog: the audit log of website-apiserver has each request with the user that the
// aggregator names, and with the audit ID in kube-apiserver's log.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	user := namespace + "-auditee"
	framework.Bind(t, namespace, user, "ClusterRole", "edit")
	config, err := framework.Cluster.UserConfig(user)
	if err != nil {
		t.Fatal(err)
	}
	ours, hosts := framework.AuditLength(t, "website-apiserver"), framework.AuditLength(t, "kube-apiserver")
	websites := framework.NewClients(t, config).Websites.WebsiteV1beta1().Websites(namespace)
	framework.WaitFor(t, "the user may create Websites", func(ctx context.Context) error {
		_, err := websites.Create(ctx, framework.NewWebsite(namespace, "kubia", framework.Detailed), metav1.CreateOptions{})
		return err
	})
	if err := websites.Delete(ctx, "kubia", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	find := func(component string, from int64, matches func(auditv1.Event) bool) (found auditv1.Event) {
		t.Helper()
		framework.WaitFor(t, component+" has logged the request", func(context.Context) error {
			for _, event := range framework.AuditEvents(t, component, from) {
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
			return e.Verb == verb && e.ObjectRef != nil && e.ObjectRef.Namespace == namespace && e.ResponseStatus != nil &&
				e.ResponseStatus.Code == code && e.User.Username == user
		})
		if ref := event.ObjectRef; ref.Resource != "websites" || ref.APIGroup != "mycontroller.nevermosby.io" ||
			ref.Name != "kubia" {
			t.Errorf("%s is about %+v, want Website kubia", verb, ref)
		}
		find("kube-apiserver", hosts, func(e auditv1.Event) bool {
			return e.AuditID == event.AuditID && e.Verb == verb && e.User.Username == user
		})
	}
}
