package website

import (
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// TestStatusUpdatesKeepTheRequest: who requested a sync, and when, is not for clients
// to write.
func TestStatusUpdatesKeepTheRequest(t *testing.T) {
	started := func(s *website.WebsiteSyncStatus) *website.WebsiteSyncStatus {
		s.StartedTime = new(at(1))
		return s
	}
	forged := &website.WebsiteSyncStatus{RequestedTime: at(9), RequestedBy: "admin", Commit: strings.Repeat("0f", 20), StartedTime: new(at(1))}
	tests := map[string]struct{ stored, sent, want *website.WebsiteSyncStatus }{
		"no request":         {sent: forged},
		"another request":    {stored: requested(), sent: forged, want: started(requested())},
		"progress":           {stored: requested(), sent: started(requested()), want: started(requested())},
		"removed":            {stored: started(requested()), want: started(requested())},
		"progress withdrawn": {stored: started(requested()), sent: requested(), want: requested()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			updated := newWebsite(func(w *website.Website) { w.Status.Sync = test.sent.DeepCopy() })
			old := newWebsite(func(w *website.Website) { w.Status.Sync = test.stored })
			if err := rest.BeforeUpdate(NewStatusStrategy(newStrategy(t)), requestContext("v1beta1", "status"), updated, old); err != nil {
				t.Fatal(err)
			}
			if !apiequality.Semantic.DeepEqual(updated.Status.Sync, test.want) {
				t.Errorf("sync = %+v, want %+v", updated.Status.Sync, test.want)
			}
		})
	}
}
