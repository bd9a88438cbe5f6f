package website

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

func TestStatusErrors(t *testing.T) {
	websites := schema.GroupResource{Group: v1beta1.GroupName, Resource: "websites"}
	for name, test := range map[string]struct {
		err        error
		wantResult problem.Result
		wantRetry  bool
	}{
		"conflict is retried, not reported": {apierrors.NewConflict(websites, testName, errors.New("changed")),
			problem.Conflict, true},
		"a deleted website is ignored": {apierrors.NewNotFound(websites, testName), problem.Success, false},
		"anything else is retried":     {errBroken, problem.Failure, true},
		"also an error of an older server": {apierrors.NewInvalid(schema.GroupKind{Group: v1beta1.GroupName,
			Kind: "Website"}, testName,
			field.ErrorList{field.NotSupported(field.NewPath("status", "conditions"), "New", []string{"Old"})}),
			problem.Failure, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.cacheWebsite(newWebsite())
			f.converge(newWebsite())
			f.addWebsite(newWebsite(withStatus(7)))
			fail(&f.websites.Fake, "update", "websites", test.err)
			if got := f.work(testKey); got != test.wantResult {
				t.Errorf("result %v, want %v", got, test.wantResult)
			}
			if got := f.controller.queue.NumRequeues(testKey) > 0; got != test.wantRetry {
				t.Errorf("retried: %t, want %t", got, test.wantRetry)
			}
			if got := f.events(); len(got) > 0 {
				t.Errorf("events: %q", got)
			}
		})
	}
}

func TestStatusIsNotGuessed(t *testing.T) {
	// When it is unknown whether there is a Deployment, zero would be wrong.
	f := newFixture(t, newWebsite(withStatus(3)))
	fail(&f.kube.Fake, "get", "deployments", errBroken)
	f.reconcile(testKey)
	if got := f.writes(); len(got) > 0 {
		t.Errorf("writes: %q", got)
	}
}

// TestLastingErrorsAreReported: one error is not reported, several in a row are.
func TestLastingErrorsAreReported(t *testing.T) {
	f := newFixture(t, newWebsite())
	stop := fail(&f.kube.Fake, "patch", "deployments", errBroken)
	reported := func() bool {
		f.refreshWebsites()
		ready := meta.FindStatusCondition(f.website(testName).Status.Conditions, v1beta1.WebsiteReady)
		return ready != nil && ready.Reason == v1beta1.WebsiteReasonReconcileError
	}
	for n := range problem.Persistent + 1 {
		if reported() {
			t.Fatalf("reported after %d errors", n)
		}
		f.work(testKey)
	}
	if !reported() {
		t.Errorf("not reported after %d errors: %+v", problem.Persistent+1, f.website(testName).Status)
	}
	stop()
	f.syncCaches()
	f.work(testKey)
	if reported() {
		t.Error("still reported when it is over")
	}
}
