package store

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// retryAfterSeconds is short, because client-go waits that long up to ten times
// before it shows the message.
const retryAfterSeconds = 1

// NewClosedError returns what clients are answered while the server is closed: 503
// with Retry-After.
func NewClosedError(closed *Closed) *apierrors.StatusError {
	err := newUnavailableError("the server is closed: " + closed.Message)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseType(closed.Reason), Message: closed.Message}}
	return err
}

func newUnavailableError(message string) *apierrors.StatusError {
	err := apierrors.NewServiceUnavailable(message)
	err.ErrStatus.Details = &metav1.StatusDetails{Group: website.GroupName, Kind: "websites", RetryAfterSeconds: retryAfterSeconds}
	return err
}

// WithClosedStore answers every request for Websites with an error while the
// server is closed. Requests under way are canceled when it closes: they would wait
// for the watch cache until they time out. Discovery, OpenAPI and health are served. It belongs inside
// authentication and authorization: the message is for those who may read
// Websites.
func (g *Guard) WithClosedStore(handler http.Handler, serializer runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		closed := g.Closed()
		if !ok || !info.IsResourceRequest || info.APIGroup != website.GroupName {
			handler.ServeHTTP(w, r)
			return
		}
		if closed == nil {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(g.opening.Load().ctx, cancel)()
			handler.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
		responsewriters.ErrorNegotiated(NewClosedError(closed), serializer, version, w, r)
	})
}
