package connects

import (
	"net/http"
	"strconv"

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
	if !connecting(info) || r.Method != http.MethodPost {
		return false
	}
	// A request that does not wait, or is refused, has the limits of ordinary requests.
	query := r.URL.Query()
	seconds, err := strconv.ParseInt(query.Get("timeoutSeconds"), 10, 64)
	return err == nil && seconds > 0 && storage.IsTimeout(seconds) && !query.Has(dryRun)
}
