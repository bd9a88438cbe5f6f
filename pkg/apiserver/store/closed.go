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

// reasonInsufficientStorage is the status' text of HTTP; Kubernetes has none.
const reasonInsufficientStorage metav1.StatusReason = "InsufficientStorage"

// NewClosedError returns the error for clients while the server is closed: 503 without
// Retry-After, because an administrator has to act.
func NewClosedError(closed *Closed) *apierrors.StatusError {
	message := closed.forClients()
	err := newUnavailableError("the server is closed: " + message)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseType(closed.Reason), Message: message}}
	return err
}

// newUnavailableError returns the error for clients while requests for Websites fail:
// 503 without Retry-After. With it, client-go sends a request up to ten times, each
// after a second: "kubectl get all" would be silent for that long, and a write that was
// stored without an answer would end as a conflict.
func newUnavailableError(message string) *apierrors.StatusError {
	err := apierrors.NewServiceUnavailable(message)
	err.ErrStatus.Details = &metav1.StatusDetails{Group: website.GroupName, Kind: "websites"}
	return err
}

// newInsufficientStorageError returns the error for clients that write while there is
// no space: 507, after which clients do not retry by themselves.
func newInsufficientStorageError(message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: reasonInsufficientStorage,
		Message: message,
		Details: &metav1.StatusDetails{Group: website.GroupName, Kind: "websites"},
	}}
}

// WithClosedStore answers every request for Websites with an error while the server
// is closed. It cancels requests in flight when the server closes: they would wait for
// the watch cache until they time out. Discovery, OpenAPI and health checks are
// served. It belongs inside authentication and authorization.
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
		err := NewClosedError(closed)
		if outage := g.Outage(); outage != nil && closed.Reason == ReasonUnverified {
			err.ErrStatus.Message += ": " + outage.Message
		}
		version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
		responsewriters.ErrorNegotiated(err, serializer, version, w, r)
	})
}
