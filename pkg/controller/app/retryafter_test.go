package app

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/options"
)

// encoded returns a Status as an API server sends it.
func encoded(t *testing.T, mediaType string, status metav1.Status) []byte {
	t.Helper()
	for _, info := range scheme.Codecs.SupportedMediaTypes() {
		if info.MediaType != mediaType {
			continue
		}
		var body strings.Builder
		if err := scheme.Codecs.EncoderForVersion(info.Serializer, schema.GroupVersion{Version: "v1"}).Encode(&status,
			&body); err != nil {
			t.Fatal(err)
		}
		return []byte(body.String())
	}
	t.Fatalf("nothing encodes %s", mediaType)
	return nil
}

// TestRetryAfterIsReturned has an API server reject requests for a minute, with each kind of
// response. The request must return after one attempt, with the hint.
func TestRetryAfterIsReturned(t *testing.T) {
	t.Parallel()
	webhook := apierrors.NewTooManyRequests(`admission webhook "quota.example.com" denied the request: later`,
		60).ErrStatus
	hintless := apierrors.NewServiceUnavailable("apiserver is shutting down").ErrStatus
	longer := apierrors.NewTooManyRequests("later", 120).ErrStatus
	const json, protobuf, text = "application/json", "application/vnd.kubernetes.protobuf", "text/plain; charset=utf-8"
	answers := map[string]struct {
		code        int
		contentType string
		header      string
		body        []byte
		wantSeconds int
		wantReason  metav1.StatusReason
		wantMessage string
	}{
		"webhook": {429, json, "60", encoded(t, json, webhook), 60, metav1.StatusReasonTooManyRequests,
			"quota.example.com"},
		"webhook, protobuf": {429, protobuf, "60", encoded(t, protobuf, webhook), 60, metav1.StatusReasonTooManyRequests,
			"quota.example.com"},
		"fairness": {429, text, "60", []byte("Too many requests, please try again later.\n"), 60,
			metav1.StatusReasonTooManyRequests, "too many requests"},
		"shutdown": {503, json, "60", encoded(t, json, hintless), 60, metav1.StatusReasonServiceUnavailable,
			"shutting down"},
		"load balancer": {502, "text/html", "60", []byte("<html>bad gateway</html>"), 60,
			metav1.StatusReasonInternalError, "bad gateway"},
		"nothing but a header": {500, "", "60", nil, 60, metav1.StatusReasonInternalError, ""},
		"at once":              {500, text, "0", []byte("sorry"), 0, metav1.StatusReasonInternalError, "sorry"},
		"the Status knows":     {429, json, "60", encoded(t, json, longer), 120, metav1.StatusReasonTooManyRequests, "later"},
		"for ever":             {429, text, "99999999999", []byte("no"), 1<<31 - 1, metav1.StatusReasonTooManyRequests, ""},
		"a date": {429, text, "Wed, 21 Oct 2026 07:28:00 GMT", []byte("no"), 0,
			metav1.StatusReasonTooManyRequests, ""},
	}
	requests := map[string]func(context.Context, *clients) error{
		"read": func(ctx context.Context, c *clients) error {
			_, err := c.kube.AppsV1().Deployments("default").Get(ctx, "kubia", metav1.GetOptions{})
			return err
		},
		"apply": func(ctx context.Context, c *clients) error {
			_, err := c.kube.AppsV1().Deployments("default").Apply(ctx, appsv1ac.Deployment("kubia", "default"),
				metav1.ApplyOptions{FieldManager: "test"})
			return err
		},
		"status": func(ctx context.Context, c *clients) error {
			website := &v1beta1.Website{ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: "default"}}
			_, err := c.websites.WebsiteV1beta1().Websites("default").UpdateStatus(ctx, website, metav1.UpdateOptions{})
			return err
		},
	}
	for name, answer := range answers {
		for what, request := range requests {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				var asked atomic.Int32
				clients := clientsOf(t, func(w http.ResponseWriter, _ *http.Request) {
					asked.Add(1)
					w.Header()["Content-Type"] = nil
					if answer.contentType != "" {
						w.Header().Set("Content-Type", answer.contentType)
					}
					w.Header().Set("Retry-After", answer.header)
					w.WriteHeader(answer.code)
					_, _ = w.Write(answer.body)
				})
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				err := request(ctx, clients)
				if got := apierrors.ReasonForError(err); got != answer.wantReason ||
					!strings.Contains(err.Error(), answer.wantMessage) {
					t.Errorf("error %v of reason %q, want %q and reason %q", err, got, answer.wantMessage, answer.wantReason)
				}
				if seconds, _ := apierrors.SuggestsClientDelay(err); seconds != answer.wantSeconds {
					t.Errorf("to be tried again in %d s, want %d", seconds, answer.wantSeconds)
				}
				if got := asked.Load(); got != 1 {
					t.Errorf("asked %d times, want once", got)
				}
			})
		}
	}
}

// TestOtherAnswersAreAsTheyWere: a successful response with Retry-After is unchanged, and the client
// of events, for which a delay does not matter, still retries.
func TestOtherAnswersAreAsTheyWere(t *testing.T) {
	t.Parallel()
	var askedForEvents atomic.Int32
	clients := clientsOf(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "0")
		switch {
		case !strings.HasSuffix(r.URL.Path, "/events"):
			_, _ = fmt.Fprint(w, `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"kubia"}}`)
		case askedForEvents.Add(1) == 1:
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			_, _ = fmt.Fprint(w, `{"kind":"EventList","apiVersion":"events.k8s.io/v1","items":[]}`)
		}
	})
	deployment, err := clients.kube.AppsV1().Deployments("default").Get(t.Context(), "kubia", metav1.GetOptions{})
	if err != nil || deployment.Name != "kubia" {
		t.Errorf("Deployment %+v, %v", deployment, err)
	}
	if _, err := clients.events.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{}); err != nil ||
		askedForEvents.Load() != 2 {
		t.Errorf("events: %v after %d requests, want them with the second", err, askedForEvents.Load())
	}
}

// clientsOf returns clients for an API server.
func clientsOf(t *testing.T, serve http.HandlerFunc) *clients {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	o, err := options.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	o.Kubeconfig = writeKubeconfig(t, server.URL)
	clients, err := newClients(o.Complete(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}
