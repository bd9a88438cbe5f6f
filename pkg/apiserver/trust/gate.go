package trust

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/server/healthz"
)

// retryAfterSeconds is short: the ConfigMap is read within a fraction of a second.
const retryAfterSeconds = 1

// publicPaths are served to all clients, as in the authorization options.
var publicPaths = sets.New("/healthz", "/livez", "/readyz")

// WithKnownUsers responds to all requests but public health checks with 503 until
// the CAs are known. Every user would be anonymous, and 401 and 403 are final
// responses for clients. It must be outside of authentication.
func (c *Cluster) WithKnownUsers(handler http.Handler, serializer runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unknown := c.Unknown()
		if unknown == nil || publicPaths.Has(r.URL.Path) {
			handler.ServeHTTP(w, r)
			return
		}
		err := apierrors.NewServiceUnavailable("users cannot be authenticated: " + unknown.Error())
		err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
		// A client that did not get this server's CAs may have withheld its
		// certificate, and would be anonymous for as long as the connection lives.
		w.Header().Set("Connection", "close")
		responsewriters.ErrorNegotiated(err, serializer, schema.GroupVersion{}, w, r)
	})
}

// Check makes the server unready until the CAs are known.
func (c *Cluster) Check() healthz.HealthChecker {
	return healthz.NamedCheck("authentication", func(*http.Request) error { return c.Unknown() })
}
