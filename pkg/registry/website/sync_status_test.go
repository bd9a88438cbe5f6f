package website

import (
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestStatusUpdatesKeepTheRequest: clients cannot write the user and the time of a
// sync request.
func TestStatusUpdatesKeepTheRequest(t *testing.T) {
	started := func(s *v1beta1.WebsiteSyncStatus) *v1beta1.WebsiteSyncStatus {
		s.StartedID = 7
		return s
	}
	forged := &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: 9, By: "admin",
		Commit: strings.Repeat("0f", 20)}, StartedID: 7}
	tests := map[string]struct{ stored, sent, want *v1beta1.WebsiteSyncStatus }{
		"no request":      {sent: forged},
		"another request": {stored: requested(), sent: forged, want: started(requested())},
		"progress":        {stored: requested(), sent: started(requested()), want: started(requested())},
		"removed":         {stored: started(requested()), want: started(requested())},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			updated := newWebsite(func(w *website.Website) { w.Status.Sync = test.sent.DeepCopy() })
			old := newWebsite(func(w *website.Website) { w.Status.Sync = test.stored })
			if err := rest.BeforeUpdate(NewStatusStrategy(newStrategy(t)), requestContext("v1beta1", "status"), updated,
				old); err != nil {
				t.Fatal(err)
			}
			if !apiequality.Semantic.DeepEqual(updated.Status.Sync, test.want) {
				t.Errorf("sync = %+v, want %+v", updated.Status.Sync, test.want)
			}
		})
	}
}

// TestIDsOfRequestsNeverDecrease: a client that waits for an id would take another request for
// its own.
func TestIDsOfRequestsNeverDecrease(t *testing.T) {
	stored := requested()
	stored.StartedID, stored.LastCompleted = 6, &v1beta1.WebsiteSyncCompletion{ID: 5, Time: metav1.Unix(2, 0),
		Result: v1beta1.SyncSucceeded}
	tests := map[string]struct {
		tweak func(*v1beta1.WebsiteSyncStatus)
		want  []string
	}{
		"as it was":            {tweak: func(*v1beta1.WebsiteSyncStatus) {}},
		"the last one":         {tweak: func(s *v1beta1.WebsiteSyncStatus) { s.StartedID, s.LastCompleted.ID = 7, 7 }},
		"refused, not started": {tweak: func(s *v1beta1.WebsiteSyncStatus) { s.LastCompleted.ID = 7 }},
		"started before": {tweak: func(s *v1beta1.WebsiteSyncStatus) { s.StartedID = 5 },
			want: []string{"status.sync.startedID: Invalid value: 5: may not decrease"}},
		"completed before": {tweak: func(s *v1beta1.WebsiteSyncStatus) { s.LastCompleted.ID = 4 },
			want: []string{"status.sync.lastCompleted.id: Invalid value: 4: may not decrease"}},
		"completed no more": {tweak: func(s *v1beta1.WebsiteSyncStatus) { s.LastCompleted = nil },
			want: []string{"status.sync.lastCompleted: Forbidden: may not be removed"}},
		"an earlier request": {tweak: func(s *v1beta1.WebsiteSyncStatus) { s.LastRequest.ID = 1 }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			updated := newWebsite(func(w *website.Website) { w.Status.Sync = stored.DeepCopy(); test.tweak(w.Status.Sync) })
			old := newWebsite(func(w *website.Website) { w.Status.Sync = stored.DeepCopy() })
			checkCauses(t, rest.BeforeUpdate(NewStatusStrategy(newStrategy(t)), requestContext("v1beta1", "status"), updated,
				old), test.want)
			if updated.Status.Sync.LastRequest != stored.LastRequest {
				t.Errorf("the last request is %+v", updated.Status.Sync.LastRequest)
			}
		})
	}
}
