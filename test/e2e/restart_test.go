package e2e

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestControllerRestartsOverMissingPath is not parallel: it restarts the
// controller. The last failure that pods have reported is kept until they report
// otherwise, so the Website does not become Synced in between.
func TestControllerRestartsOverMissingPath(t *testing.T) {
	namespace := newNamespace(t)
	r := newRepository(t, "", namespace, "main")
	r.write(t, map[string]string{"public/index.html": "here\n"})
	first := r.push(t, "Add the directory")
	s := applySite(t, newWebsite(namespace, r, withPath("public")), r)
	s.waitLive(t, first)
	r.write(t, map[string]string{"elsewhere.txt": "not published\n"})
	r.push(t, "Delete the directory")
	s.waitCondition(t, v1beta1.WebsiteSynced, metav1.ConditionFalse, v1beta1.WebsiteReasonPathNotFound)

	watcher, err := framework.Admin(t).Websites.WebsiteV1beta1().Websites(namespace).Watch(t.Context(), metav1.ListOptions{ResourceVersion: s.get(t).ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Stop)
	framework.StopController(t)()
	// By the time that it has asked the pod of a newer site, it has asked this one.
	newer := newSite(t)
	newer.waitReported(t, newer.repository.git(t, "rev-parse", "HEAD"))

	// The last event of the watch.
	s.patch(t, `{"metadata":{"labels":{"restarted":"true"}}}`)
	timeout := time.After(framework.WaitTimeout)
	for {
		select {
		case event := <-watcher.ResultChan():
			w, ok := event.Object.(*v1beta1.Website)
			if !ok {
				t.Fatalf("%s of %+v", event.Type, event.Object)
			}
			if meta.IsStatusConditionTrue(w.Status.Conditions, v1beta1.WebsiteSynced) {
				t.Errorf("Synced although the directory is missing: %+v", w.Status.Conditions)
			}
			if w.Labels["restarted"] != "" {
				return
			}
		case <-timeout:
			t.Fatal("the watch does not come to its end")
		}
	}
}
