package connects

import (
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubesites/website-apiserver/pkg/registry/website/storage"
)

// longRunning returns a check that also holds for requests that wait for a sync. They have
// limits of their own, and must neither take a seat of priority and fairness for as long
// as they wait, nor end with the timeout of ordinary requests.
func longRunning(check request.LongRunningRequestCheck) request.LongRunningRequestCheck {
	return func(r *http.Request, info *request.RequestInfo) bool {
		return check != nil && check(r, info) || waits(r, info)
	}
}

func waits(r *http.Request, info *request.RequestInfo) bool {
	if !connecting(info) || info.Subresource != "sync" || r.Method != http.MethodPost {
		return false
	}
	// Whoever does not wait, or is refused, has the limits of ordinary requests.
	query := r.URL.Query()
	wait, err := storage.ParseWait(query.Get("wait"))
	return err == nil && wait > 0 && !query.Has("dryRun")
}
