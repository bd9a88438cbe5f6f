package largewrites

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
	"github.com/kubesites/website-apiserver/pkg/apiserver/costlybodies"
)

// maxBodyBytes is the longest body that API servers read.
const maxBodyBytes = 3 << 20

// withBody returns a request whose body is in memory. It returns an error for the client if there
// is none, or one of more bytes than the limit.
func withBody(r *http.Request, limit int) (*http.Request, []byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	if err != nil {
		return r, nil, apierrors.NewBadRequest(fmt.Sprintf("reading the body of the request: %v", err))
	}
	if len(body) > limit {
		return r, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", limit))
	}
	read := r.WithContext(r.Context())
	read.Body = io.NopCloser(bytes.NewReader(body))
	return read, body, nil
}

// lengthOf returns the length of a body that is not large, and that of the largest Website for any other, with a
// request that has all of the body.
func lengthOf(r *http.Request) (*http.Request, int64, error) {
	begin, err := io.ReadAll(io.LimitReader(r.Body, minBytes))
	if err != nil {
		return r, 0, apierrors.NewBadRequest(fmt.Sprintf("reading the body of the request: %v", err))
	}
	read := r.WithContext(r.Context())
	read.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), r.Body), r.Body}
	if len(begin) < minBytes {
		return read, int64(len(begin)), nil
	}
	return read, validation.MaxBytes, nil
}

// mediaType is that of the body, cut from its parameters as the handlers of patches do, which
// do not check them.
func mediaType(r *http.Request) string {
	name, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// formatOf returns how the body is decoded. That of server-side apply is YAML.
func formatOf(r *http.Request) costlybodies.Format {
	switch mediaType(r) {
	case runtime.ContentTypeYAML, string(types.ApplyYAMLPatchType):
		return costlybodies.YAML
	case string(types.StrategicMergePatchType):
		return costlybodies.StrategicMergePatch
	default:
		return costlybodies.JSON
	}
}

func isJSONPatch(r *http.Request) bool { return mediaType(r) == string(types.JSONPatchType) }

// copies reports whether a JSON patch repeats parts of the object, which makes it as large as
// may be, however short the patch is. What cannot be read is rejected later.
func copies(patch []byte) bool {
	operations, err := jsonpatch.DecodePatch(patch)
	return err == nil && slices.ContainsFunc(operations, func(operation jsonpatch.Operation) bool { return operation.Kind() == "copy" })
}

// bodies bounds how much of bodies is in memory for each namespace, until the write has been processed: a client that
// sends slowly, and a write that is processed slowly, hold up only their namespace.
type bodies struct {
	mu          sync.Mutex
	byNamespace map[string]*namespaceBodies
}

// namespaceBodies are those of the writes of a namespace.
type namespaceBodies struct {
	bytes *semaphore.Weighted
	// writes is how many use this one.
	writes int
}

func newBodies() *bodies { return &bodies{byNamespace: map[string]*namespaceBodies{}} }

// acquire waits until the body of a write may be read, and returns what to call once it is no
// longer needed.
func (b *bodies) acquire(ctx context.Context, namespace string, bytes int64) (release func(), err error) {
	b.mu.Lock()
	of := b.byNamespace[namespace]
	if of == nil {
		of = &namespaceBodies{bytes: semaphore.NewWeighted(namespaceBytes)}
		b.byNamespace[namespace] = of
	}
	of.writes++
	b.mu.Unlock()

	leave := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if of.writes--; of.writes == 0 {
			delete(b.byNamespace, namespace)
		}
	}
	if err := of.bytes.Acquire(ctx, bytes); err != nil {
		leave()
		return nil, fmt.Errorf("waiting for other writes of namespace %s: %w", namespace, err)
	}
	return func() { of.bytes.Release(bytes); leave() }, nil
}
