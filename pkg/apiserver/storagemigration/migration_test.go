package storagemigration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

var websites = schema.GroupVersionResource{Group: "mycontroller.nevermosby.io", Version: "v1beta1",
	Resource: "websites"}

// fakeServer serves pages, and rewrites objects that are not current.
type fakeServer struct {
	names []string
	// current are the names of objects that need no write.
	current map[string]bool
	// patched are the names of successful patches, in their order.
	patched []string
	// refuse and refuseList answer a request instead, unless they return nil.
	refuse     func(name string) error
	refuseList func(token string) error
}

// ServeHTTP answers as an API server does.
func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := s.answer(r)
	code := http.StatusOK
	if err != nil {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			panic(http.ErrAbortHandler) // the connection breaks
		}
		failure := status.Status()
		answer, code = failure, int(failure.Code)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

// answering is held while a request is answered: after a broken connection, the next one is on
// another connection.
var answering sync.Mutex

func (s *fakeServer) answer(r *http.Request) (any, error) {
	answering.Lock()
	defer answering.Unlock()
	if r.Method == http.MethodGet {
		return s.list(r.URL.Query())
	}
	return s.patch(r)
}

func object(name, resourceVersion string) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name),
			ResourceVersion: resourceVersion},
	}
}

func (s *fakeServer) list(query url.Values) (any, error) {
	token := query.Get("continue")
	if s.refuseList != nil {
		if err := s.refuseList(token); err != nil {
			return nil, err
		}
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		return nil, err
	}
	start, _ := strconv.Atoi(token)
	end := min(start+limit, len(s.names))
	page := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1",
		Kind: "PartialObjectMetadataList"}}
	for _, name := range s.names[start:end] {
		page.Items = append(page.Items, object(name, "1"))
	}
	if end < len(s.names) {
		page.Continue, page.RemainingItemCount = strconv.Itoa(end), ptr.To(int64(len(s.names)-end))
	}
	return page, nil
}

func (s *fakeServer) patch(r *http.Request) (any, error) {
	name := path.Base(r.URL.Path)
	if s.refuse != nil {
		if err := s.refuse(name); err != nil {
			return nil, err
		}
	}
	patch, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	want := fmt.Sprintf(`{"metadata":{"resourceVersion":"1","uid":"uid-%s"}}`, name)
	if string(patch) != want || r.Header.Get("Content-Type") != string(types.MergePatchType) {
		return nil, status(http.StatusBadRequest, metav1.StatusReason("want "+want), "websites", name, "")
	}
	s.patched = append(s.patched, name)
	if s.current[name] {
		return object(name, "1"), nil
	}
	return object(name, "2"), nil
}

// client returns a client of the server, which ends with the test.
func (s *fakeServer) client(t *testing.T) metadata.Interface {
	t.Helper()
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	client, err := metadata.NewForConfig(&rest.Config{Host: listening.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// once returns err for the first request about which, and nil afterwards.
func once(which string, err error) func(string) error {
	return func(name string) error {
		if name != which {
			return nil
		}
		which = "\x00"
		return err
	}
}

func status(code int, reason metav1.StatusReason, kind, name, token string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: string(reason),
		ListMeta: metav1.ListMeta{Continue: token}, Details: &metav1.StatusDetails{Kind: kind, Name: name},
	}}
}

func TestRun(t *testing.T) {
	patient := retries
	retries.Duration = time.Millisecond
	t.Cleanup(func() { retries = patient })
	all := []string{"a", "b", "c", "d", "e"}
	tests := map[string]struct {
		server      fakeServer
		want        Counts
		wantPatched []string
		wantErr     string
	}{
		"nothing is stored": {},
		"everything is written": {
			server: fakeServer{names: all}, want: Counts{Rewritten: 5}, wantPatched: all,
		},
		"a current object is not": {
			server: fakeServer{names: all, current: map[string]bool{"a": true, "d": true}},
			want:   Counts{Rewritten: 3, Current: 2}, wantPatched: all,
		},
		"changed by others": {
			server: fakeServer{names: all, refuse: func(name string) error {
				switch name {
				case "b":
					return status(http.StatusConflict, metav1.StatusReasonConflict, "websites", "b", "")
				case "c":
					return status(http.StatusNotFound, metav1.StatusReasonNotFound, "websites", "c", "")
				}
				return nil
			}},
			want: Counts{Rewritten: 3, Changed: 2}, wantPatched: []string{"a", "d", "e"},
		},
		"refused by admission": {
			server: fakeServer{names: all, refuse: func(name string) error {
				if name == "a" {
					return status(http.StatusForbidden, metav1.StatusReasonForbidden, "websites", "a", "")
				}
				return nil
			}},
			want: Counts{Rewritten: 4, Failed: 1}, wantPatched: all[1:], wantErr: "1 objects could not be rewritten",
		},
		"its namespace is gone": {
			server: fakeServer{names: all, refuse: func(name string) error {
				if name == "e" {
					return status(http.StatusNotFound, metav1.StatusReasonNotFound, "namespaces", "default", "")
				}
				return nil
			}},
			want: Counts{Rewritten: 4, Failed: 1}, wantPatched: all[:4], wantErr: "1 objects could not be rewritten",
		},
		"a webhook is unreachable": {
			server: fakeServer{names: all, refuse: func(name string) error {
				if name == "b" {
					return status(http.StatusInternalServerError, metav1.StatusReasonInternalError, "", "", "")
				}
				return nil
			}},
			want: Counts{Rewritten: 4, Failed: 1}, wantPatched: []string{"a", "c", "d", "e"},
			wantErr: "1 objects could not be rewritten",
		},
		"a connection breaks": {
			server: fakeServer{names: all, refuse: once("c", errors.New("connection reset by peer"))},
			want:   Counts{Rewritten: 5}, wantPatched: all,
		},
		"the list expires": {
			// The server returns a continue token.
			server: fakeServer{
				names: all, refuseList: once("2", status(http.StatusGone, metav1.StatusReasonExpired, "", "", "1")),
			},
			want: Counts{Rewritten: 6}, wantPatched: []string{"a", "b", "b", "c", "d", "e"},
		},
		"the list expires and gives no place": {
			server: fakeServer{
				names: all, refuseList: once("4", status(http.StatusGone, metav1.StatusReasonExpired, "", "", "")),
			},
			want: Counts{Rewritten: 5}, wantPatched: []string{"a", "b", "c", "d", "a", "b", "c", "d", "e"},
		},
		"may not list": {
			server: fakeServer{
				names: all, refuseList: once("", status(http.StatusForbidden, metav1.StatusReasonForbidden, "websites", "", "")),
			},
			wantErr: "listing websites.mycontroller.nevermosby.io: Forbidden",
		},
		"credentials end": {
			server: fakeServer{
				names: all, refuse: once("b", status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "", "", "")),
			},
			want: Counts{Rewritten: 1}, wantPatched: all[:1], wantErr: "rewriting default/b: Unauthorized",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := Migration{Client: test.server.client(t), Resource: websites, ChunkSize: 2}
			got, err := m.Run(t.Context())
			if test.wantErr == "" && err != nil || test.wantErr != "" &&
				(err == nil || !strings.Contains(err.Error(), test.wantErr)) {
				t.Errorf("error = %v, want %q", err, test.wantErr)
			}
			if got != test.want {
				t.Errorf("counts = %+v, want %+v", got, test.want)
			}
			if !slices.Equal(test.server.patched, test.wantPatched) {
				t.Errorf("patched %v, want %v", test.server.patched, test.wantPatched)
			}
		})
	}
}

// TestInternalErrorsAreNotWaitedOutEachTime makes every write fail, as an
// unreachable webhook does: thousands of objects must not take half a
// minute each.
func TestInternalErrorsAreNotWaitedOutEachTime(t *testing.T) {
	patient := retries
	retries.Duration = time.Millisecond
	t.Cleanup(func() { retries = patient })
	requests := map[string]int{}
	unreachable := true
	server := fakeServer{names: []string{"a", "b", "c", "d", "e"}, refuse: func(name string) error {
		requests[name]++
		if name == "d" {
			unreachable = requests[name] == 1
			if unreachable {
				return errors.New("connection reset by peer")
			}
		}
		if unreachable || name == "e" && requests[name] == 1 {
			return status(http.StatusInternalServerError, metav1.StatusReasonInternalError, "", "", "")
		}
		return nil
	}}
	m := Migration{Client: server.client(t), Resource: websites, ChunkSize: 5}
	if got, err := m.Run(t.Context()); err == nil || got != (Counts{Rewritten: 2, Failed: 3}) {
		t.Errorf("counts = %+v (%v), want 3 failed and the others rewritten", got, err)
	}
	// d proves that the server works again, so e is worth a second request.
	if want := map[string]int{"a": retries.Steps, "b": 1, "c": 1, "d": 2, "e": 2}; !maps.Equal(requests, want) {
		t.Errorf("requests = %v, want %v", requests, want)
	}
}

// TestInterruptedRun: it ends with the interruption, and another run rewrites the rest.
func TestInterruptedRun(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	server := fakeServer{names: []string{"a", "b", "c", "d", "e"}}
	server.refuse = func(name string) error {
		if name == "d" {
			interrupt()
			return ctx.Err()
		}
		return nil
	}
	m := Migration{Client: server.client(t), Resource: websites, ChunkSize: 2}
	if got, err := m.Run(ctx); !errors.Is(err, context.Canceled) || got != (Counts{Rewritten: 3}) {
		t.Fatalf("counts = %+v, error = %v, want 3 rewritten and the interruption", got, err)
	}
	server.refuse, server.patched = nil, nil
	if got, err := m.Run(t.Context()); err != nil || got.Total() != 5 || !slices.Contains(server.patched, "e") {
		t.Errorf("counts = %+v, error = %v, patched %v, want all", got, err, server.patched)
	}
}
