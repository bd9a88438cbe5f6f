package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// remedy is the advice for a Website that cannot be read.
const remedy = "restore its value or the encryption key, or delete it with " +
	"ignoreStoreReadErrorWithClusterBreakingPotential"

// unreadableLogInterval bounds how often the same Websites are logged: every list
// finds them again.
const unreadableLogInterval = time.Minute

// readError is the error of a value in etcd that cannot be decrypted or decoded.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

// markingDecoder marks errors as errors of a value. The library's own mark cannot be
// recognized outside of its package.
type markingDecoder struct{ etcd3.Decoder }

func (d markingDecoder) Decode(value []byte, into runtime.Object, revision int64) error {
	if err := d.Decoder.Decode(value, into, revision); err != nil {
		return &readError{err}
	}
	return nil
}

func (d markingDecoder) DecodeListItem(ctx context.Context, data []byte, revision uint64,
	newItem func() runtime.Object) (runtime.Object, error) {
	obj, err := d.Decoder.DecodeListItem(ctx, data, revision, newItem)
	if err != nil {
		return obj, &readError{err}
	}
	return obj, nil
}

// markingTransformer does the same for decryption.
type markingTransformer struct{ value.Transformer }

func (t markingTransformer) TransformFromStorage(ctx context.Context, data []byte,
	dataCtx value.Context) ([]byte, bool, error) {
	out, stale, err := t.Transformer.TransformFromStorage(ctx, data, dataCtx)
	if err != nil {
		return out, stale, &readError{err}
	}
	return out, stale, nil
}

// unreadableLog logs Websites that cannot be read.
type unreadableLog struct {
	mu      sync.Mutex
	message string
	logged  time.Time
}

func (l *unreadableLog) log(message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if message == l.message && time.Since(l.logged) < unreadableLogInterval {
		return
	}
	l.message, l.logged = message, time.Now()
	klog.ErrorS(nil, "Websites cannot be read from the store: lists that include them fail, and watches of all Websites "+
		"get no events", "message", message)
}

// unreadable returns the error for clients if err is about Websites that cannot be
// read, which it names; nil otherwise. key is the key of the request.
func (l *unreadableLog) unreadable(key string, err error) *apierrors.StatusError {
	var causes []metav1.StatusCause
	var read *readError
	var stored *storage.StorageError
	var status *apierrors.StatusError
	switch {
	case errors.As(err, &status) && status.ErrStatus.Reason == metav1.StatusReasonStoreReadError &&
		status.ErrStatus.Details != nil:
		for _, cause := range status.ErrStatus.Details.Causes {
			if cause.Field != "" {
				// The message comes from the storage, with the key.
				_, message, found := strings.Cut(cause.Message, "AdditionalErrorMsg: ")
				if !found {
					message = cause.Message
				}
				cause.Field, cause.Message = namespacedName(cause.Field), message
			}
			causes = append(causes, cause)
		}
	case errors.As(err, &read):
		causes = unreadableCause(key, read)
	case errors.As(err, &stored) && stored.Code == storage.ErrCodeCorruptObj:
		causes = unreadableCause(key, errors.Unwrap(stored))
	}
	if len(causes) == 0 {
		return nil
	}
	message := fmt.Sprintf("Website %s cannot be read from the store: %s", causes[0].Field, causes[0].Message)
	if len(causes) > 1 {
		message += fmt.Sprintf(" (and %d more)", len(causes)-1)
	}
	l.log(message)
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonStoreReadError,
		Message: message + "; " + remedy,
		Details: &metav1.StatusDetails{Group: website.GroupName, Kind: "websites", Causes: causes},
	}}
}

func unreadableCause(key string, err error) []metav1.StatusCause {
	return []metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse, Field: namespacedName(key),
		Message: err.Error()}}
}

// namespacedName returns the namespace and name in the key of a Website.
func namespacedName(key string) string {
	return path.Base(path.Dir(key)) + "/" + path.Base(key)
}
