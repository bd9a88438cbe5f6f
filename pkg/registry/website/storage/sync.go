package storage

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

const (
	// maxTimeoutSeconds is the longest wait for a request.
	maxTimeoutSeconds = 300
	// answerMargin is the time between the response and the end of a wait. Clients and
	// proxies have the same limit: kube-apiserver ends requests after 60 seconds.
	answerMargin = 2 * time.Second
)

// SyncREST serves requests to fetch the repository of a Website at once. It is a
// Connecter, because git hosts choose the body and content type of their requests.
type SyncREST struct {
	store   *genericregistry.Store
	clock   clock.WithTicker
	batches *batches
	waiters waiters
	// omitNames leaves the names of users out.
	omitNames bool
	// protobuf reads the bodies of typed clients.
	protobuf *protobuf.Serializer

	stopOnce sync.Once
	stopped  chan struct{}
}

var (
	_ rest.Connecter       = &SyncREST{}
	_ rest.StorageMetadata = &SyncREST{}
)

func newSyncREST(store *genericregistry.Store, scheme *runtime.Scheme, rules registry.FieldRules,
	c clock.WithTicker) *SyncREST {
	return &SyncREST{
		store: store, clock: c, batches: newBatches(c), omitNames: rules.OmitPersonalNames,
		protobuf: protobuf.NewSerializer(scheme, scheme), stopped: make(chan struct{}),
	}
}

// New returns the type of the options, as for all subresources that connect. Admission
// gets it.
func (*SyncREST) New() runtime.Object { return &website.WebsiteSyncOptions{} }

// Destroy does nothing: the store underneath belongs to REST, which closes it.
func (*SyncREST) Destroy() {}

// NewConnectOptions returns empty query parameters.
func (*SyncREST) NewConnectOptions() (runtime.Object, bool, string) {
	return &website.WebsiteSyncOptions{}, false, ""
}

// ConnectMethods returns POST, which requests a sync, and GET, which returns the last
// request. RBAC calls them create and get.
func (*SyncREST) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }

// ProducesMIMETypes returns nil for the types of the API.
func (*SyncREST) ProducesMIMETypes(string) []string { return nil }

// ProducesObject returns the type of responses, for OpenAPI.
func (*SyncREST) ProducesObject(string) any { return v1beta1.WebsiteSyncRequest{} }

// Stop ends all waits, which keep a server from shutting down.
func (r *SyncREST) Stop() { r.stopOnce.Do(func() { close(r.stopped) }) }

// Connect returns the handler of a request.
func (r *SyncREST) Connect(ctx context.Context, name string, options runtime.Object,
	responder rest.Responder) (http.Handler, error) {
	opts, ok := options.(*website.WebsiteSyncOptions)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("requesting a sync: got options of type %T", options))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		code, response, err := r.serve(ctx, name, opts, w, req)
		if err != nil {
			responder.Error(err)
			return
		}
		responder.Object(code, response)
	}), nil
}

func (r *SyncREST) serve(ctx context.Context, name string, opts *website.WebsiteSyncOptions, w http.ResponseWriter,
	req *http.Request) (int, runtime.Object, error) {
	dryRun := registry.DryRunFrom(ctx)
	if err := validateDryRun(name, dryRun); err != nil {
		return 0, nil, err
	}
	timeoutSeconds := ptr.Deref(opts.TimeoutSeconds, 0)
	if !IsTimeout(timeoutSeconds) {
		return 0, nil, apierrors.NewInvalid(website.Kind("WebsiteSyncOptions"), name, field.ErrorList{
			field.Invalid(field.NewPath("timeoutSeconds"), timeoutSeconds,
				fmt.Sprintf("must be from 0 to %d", maxTimeoutSeconds)),
		})
	}
	wait := time.Duration(timeoutSeconds) * time.Second
	if req.Method == http.MethodGet {
		found, err := r.get(ctx, name)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, registry.NewSyncRequest(found), nil
	}

	if len(dryRun) > 0 {
		wait = 0
	}
	if wait > 0 {
		release, err := r.waiters.enter(genericapirequest.NamespaceValue(ctx))
		if err != nil {
			return 0, nil, err
		}
		defer release()
		// A slow body must not occupy a place for longer than the wait.
		_ = http.NewResponseController(w).SetReadDeadline(r.clock.Now().Add(wait))
	}
	body, err := readBody(req)
	if wait > 0 {
		// The deadline of an HTTP/1 connection would end the request, and later ones.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	if err != nil {
		return 0, nil, err
	}
	commit, err := r.syncCommit(name, body)
	if err != nil {
		return 0, nil, err
	}
	recorded, err := r.record(ctx, name, commit, dryRun)
	if err != nil {
		return 0, nil, err
	}
	if wait == 0 {
		return http.StatusAccepted, registry.NewSyncRequest(recorded), nil
	}
	response, err := r.wait(ctx, recorded, commit, wait)
	return http.StatusOK, response, err
}

// IsTimeout reports whether a request may wait for this number of seconds.
func IsTimeout(seconds int64) bool { return seconds >= 0 && seconds <= maxTimeoutSeconds }

func (r *SyncREST) get(ctx context.Context, name string) (*website.Website, error) {
	obj, err := r.store.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return obj.(*website.Website), nil
}

// record records the request, together with concurrent ones.
func (r *SyncREST) record(ctx context.Context, name, commit string, dryRun []string) (*website.Website, error) {
	key := genericapirequest.NamespaceValue(ctx) + "/" + name
	if len(dryRun) > 0 {
		key += "?dryRun"
	}
	return r.batches.record(ctx, key, commit, func(ctx context.Context, commit string) (*website.Website, error) {
		requester := ""
		if u, ok := genericapirequest.UserFrom(ctx); ok && !r.omitNames {
			requester = u.GetName()
		}
		change := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
			w := old.DeepCopyObject().(*website.Website)
			if w.ResourceVersion == "" {
				return nil, apierrors.NewNotFound(website.Resource("websites"), name)
			}
			if err := registry.RefuseSync(w); err != nil {
				return nil, err
			}
			registry.RecordSync(&w.Status, commit, requester, r.clock.Now())
			return w, nil
		})
		obj, _, err := r.store.Update(ctx, name, change, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false,
			&metav1.UpdateOptions{DryRun: dryRun})
		if err != nil {
			return nil, err
		}
		return obj.(*website.Website), nil
	})
}
