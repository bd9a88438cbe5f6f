package api

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

var floodDuration = flag.Duration("sync-flood", 5*time.Second, "how long TestSyncFlood requests syncs")

const (
	// floodClients is the number of clients that request syncs concurrently.
	floodClients = 100
	oldCommit    = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
	newCommit    = "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"
)

// hook sends requests of one user through the aggregator, as a git host does.
type hook struct {
	client *http.Client
	url    string
}

func newHook(t *testing.T, config *rest.Config, namespace string) hook {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return hook{client: client, url: config.Host + websitesPath("v1beta1", namespace, "/kubia")}
}

// send returns the status code and the response of a request to a subresource.
func (h hook) send(ctx context.Context, method, subresource, body string) (int, map[string]any, error) {
	request, err := http.NewRequestWithContext(ctx, method, h.url+subresource, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if strings.HasPrefix(body, "{") {
		request.Header.Set("Content-Type", runtime.ContentTypeJSON)
	}
	response, err := h.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return 0, nil, fmt.Errorf("%d %s: %w", response.StatusCode, data, err)
	}
	return response.StatusCode, object, nil
}

// must is send for a request that must get a response.
func (h hook) must(t *testing.T, method, subresource, body string) (int, map[string]any) {
	t.Helper()
	code, object, err := h.send(t.Context(), method, subresource, body)
	if err != nil {
		t.Fatal(err)
	}
	return code, object
}

// patchStatus writes a part of the status of the Website kubia as website-controller does.
func patchStatus(ctx context.Context, t *testing.T, namespace string, status any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := framework.Websites(t, namespace).Patch(ctx, "kubia", types.MergePatchType, patch, metav1.PatchOptions{},
		"status"); err != nil {
		t.Fatal(err)
	}
}

// TestDeployHook: the token of a deploy hook permits a single operation.
func TestDeployHook(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia"))
	config := newUserWithRole(t, namespace, "website-deployer")
	user := namespace + "-website-deployer"
	h := newHook(t, config, namespace)
	from := framework.AuditLength(t, "website-apiserver")
	framework.WaitFor(t, "the role is known", func(ctx context.Context) error {
		if code, object, err := h.send(ctx, http.MethodPost, "/sync", "payload=%7B%7D"); err != nil ||
			code != http.StatusAccepted || object["kind"] != "WebsiteSyncRequest" {
			return fmt.Errorf("%d %v %w", code, object, err)
		}
		return nil
	})
	// As large as git hosts send, and larger.
	for _, client := range []*http.Client{h.client, newHTTP1Client(t, config)} {
		for size, want := range map[int]int{20 << 20: http.StatusAccepted, 26 << 20: http.StatusRequestEntityTooLarge} {
			code, object := hook{client, h.url}.must(t, http.MethodPost, "/sync", strings.Repeat("a", size))
			if code != want {
				t.Errorf("a body of %d bytes = %d %v, want %d", size, code, object, want)
			}
		}
	}
	code, shown := h.must(t, http.MethodGet, "/sync", "")
	request, _, _ := unstructured.NestedMap(shown, "sync", "lastRequest")
	if code != http.StatusOK || request["by"] != user {
		t.Errorf("GET = %d %v, want the request of %s", code, shown, user)
	}
	for _, denied := range []struct{ method, path string }{
		{http.MethodGet, ""}, {http.MethodDelete, ""}, {http.MethodPost, "/rollback"}, {http.MethodGet, "/scale"},
		{http.MethodGet, "/status"},
	} {
		if code, object := h.must(t, denied.method, denied.path, ""); code != http.StatusForbidden {
			t.Errorf("%s %s = %d %v, want 403", denied.method, denied.path, code, object)
		}
	}
	framework.WaitFor(t, "the request is in the audit log", func(context.Context) error {
		for _, event := range framework.AuditEvents(t, "website-apiserver", from) {
			if ref := event.ObjectRef; event.User.Username == user && event.Verb == "create" && ref != nil &&
				ref.Subresource == "sync" && ref.Name == "kubia" &&
				event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusAccepted {
				return nil
			}
		}
		return errors.New("no such event")
	})

	viewer := newHook(t, newUserWithRole(t, namespace, "view"), namespace)
	framework.WaitFor(t, "a viewer sees the request", func(ctx context.Context) error {
		if code, object, err := viewer.send(ctx, http.MethodGet, "/sync", ""); err != nil || code != http.StatusOK {
			return fmt.Errorf("%d %v %w", code, object, err)
		}
		return nil
	})
	if code, object := viewer.must(t, http.MethodPost, "/sync", ""); code != http.StatusForbidden {
		t.Errorf("a viewer requested a sync: %d %v", code, object)
	}
}

// TestWaitForSync waits through the aggregator for a result that the test reports.
func TestWaitForSync(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		result v1beta1.SyncResult
		code   int
		want   string
	}{
		"succeeded": {result: v1beta1.SyncSucceeded, code: http.StatusOK, want: "Succeeded"},
		"failed":    {result: v1beta1.SyncFailed, code: http.StatusUnprocessableEntity, want: "RefNotFound"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			namespace := framework.NewNamespace(t)
			framework.MustCreate(t, framework.NewWebsite(namespace, "kubia"))
			h := newHook(t, framework.AdminConfig(t), namespace)
			// website-controller, which observes no commits here, may complete a request first: it handles
			// two at once, and then one in five seconds.
			for attempt := 0; ; attempt++ {
				a := waitForSync(t, h, namespace, test.result)
				if a.err == nil && a.cause() == v1beta1.WebsiteReasonNotObserved && attempt < 9 {
					continue
				}
				if a.err != nil || a.code != test.code || a.object["state"] != test.want && a.cause() != test.want {
					t.Errorf("answered %+v, want %d %s", a, test.code, test.want)
				}
				break
			}
		})
	}
}

// hookAnswer is the response to a request of a hook.
type hookAnswer struct {
	code   int
	object map[string]any
	err    error
}

// cause returns the type of the first cause of an error, or "".
func (a hookAnswer) cause() string {
	causes, _, _ := unstructured.NestedSlice(a.object, "details", "causes")
	if len(causes) == 0 {
		return ""
	}
	return fmt.Sprint(causes[0].(map[string]any)["reason"])
}

// waitForSync requests a sync of kubia, completes it while the request waits, and returns
// the response.
func waitForSync(t *testing.T, h hook, namespace string, result v1beta1.SyncResult) hookAnswer {
	t.Helper()
	before, err := framework.Websites(t, namespace).Get(t.Context(), "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan hookAnswer, 1)
	go func() {
		code, object, err := h.send(t.Context(), http.MethodPost, "/sync?timeoutSeconds=50", "")
		answered <- hookAnswer{code, object, err}
	}()
	var requested int64
	framework.WaitFor(t, "the request is recorded", func(ctx context.Context) error {
		w, err := framework.Websites(t, namespace).Get(ctx, "kubia", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if w.Status.Sync == nil || before.Status.Sync != nil &&
			w.Status.Sync.LastRequest.ID == before.Status.Sync.LastRequest.ID {
			return errors.New("no request")
		}
		requested = w.Status.Sync.LastRequest.ID
		return nil
	})
	select {
	case a := <-answered:
		if a.cause() != v1beta1.WebsiteReasonNotObserved {
			t.Fatalf("answered before it was completed: %+v", a)
		}
		return a
	default:
	}
	patchStatus(t.Context(), t, namespace,
		map[string]any{"sync": map[string]any{"startedID": requested, "lastCompleted": v1beta1.WebsiteSyncCompletion{
			ID: requested, Time: metav1.Now(), Result: result, Reason: "RefNotFound", Message: "no branch main",
			Commit: newCommit,
		}}})
	return <-answered
}

// TestWebhookOnConnect: admission applies to deploy hooks as well.
func TestWebhookOnConnect(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia"))
	server := framework.NewWebhook(t, func(options *unstructured.Unstructured, response *admissionv1.AdmissionResponse) {
		seconds, found, _ := unstructured.NestedInt64(options.Object, "timeoutSeconds")
		response.Allowed = options.GetKind() == "WebsiteSyncOptions" && !found
		response.Result = &metav1.Status{Message: fmt.Sprintf("not for %d seconds", seconds)}
	})
	selector, rule := framework.RuleFor(namespace, admissionregistrationv1.Connect)
	rule.Resources = []string{"websites/sync"}
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	client := framework.Admin(t).Kubernetes.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration, err := client.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.example.com", ClientConfig: framework.WebhookClient(server),
			Rules:             []admissionregistrationv1.RuleWithOperations{rule},
			NamespaceSelector: selector, FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, client, configuration.Name)

	h := newHook(t, framework.AdminConfig(t), namespace)
	framework.WaitFor(t, "the webhook denies the request", func(ctx context.Context) error {
		code, object, err := h.send(ctx, http.MethodPost, "/sync?timeoutSeconds=1", "")
		if message := fmt.Sprint(object["message"]); err != nil || code < 400 || !strings.Contains(message,
			`admission webhook "validate.example.com" denied the request: not for 1 seconds`) {
			return fmt.Errorf("%d %v %w", code, object, err)
		}
		return nil
	})
	if code, object := h.must(t, http.MethodPost, "/sync?dryRun=All", ""); code != http.StatusAccepted {
		t.Errorf("a request that the webhook allows = %d %v", code, object)
	}
}

// TestRollBack rolls back and forward with kubectl, as users do.
func TestRollBack(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia"))
	release := func(commit, subject string, day int) v1beta1.WebsiteRelease {
		return v1beta1.WebsiteRelease{Commit: commit, Subject: subject, Author: "Zoë", Cause: v1beta1.ReleaseCausePoll,
			PublishedTime: metav1.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)}
	}
	patchStatus(t.Context(), t, namespace, map[string]any{"commit": newCommit,
		"history": []v1beta1.WebsiteRelease{release(newCommit, "Break the menu", 2), release(oldCommit, "Add a menu", 1)}})
	rollback := websitesPath("v1beta1", namespace, "/kubia/rollback")

	out := framework.KubectlWith(t, framework.Stdin(`{"commit":"`+oldCommit+`"}`), "create", "--raw", rollback, "-f", "-")
	if !strings.Contains(out, `"kind":"WebsiteRollback"`) || !strings.Contains(out, `"commit":"`+oldCommit+`"`) {
		t.Errorf("kubectl create --raw printed %s", out)
	}
	w, err := framework.Websites(t, namespace).Get(t.Context(), "kubia", metav1.GetOptions{})
	if err != nil || w.Spec.PinnedCommit() != oldCommit || w.Generation != 2 {
		t.Errorf("pin = %q in generation %d (%v), want %s in the next generation", w.Spec.PinnedCommit(),
			w.Generation, err, oldCommit)
	}
	if !slices.ContainsFunc(w.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == "website-apiserver" && e.Subresource == "rollback"
	}) {
		t.Errorf("managed fields = %v, want an entry for rollback", w.ManagedFields)
	}
	framework.Kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p", `{"spec":{"pin":null}}`)

	editor := newHook(t, newUserWithRole(t, namespace, "edit"), namespace)
	framework.WaitFor(t, "an editor may roll back", func(ctx context.Context) error {
		if code, object, err := editor.send(ctx, http.MethodPost, "/rollback", "{}"); err != nil ||
			code != http.StatusCreated {
			return fmt.Errorf("%d %v %w", code, object, err)
		}
		return nil
	})
	if out := framework.Kubectl(t, "get", "website", "kubia", "-n", namespace); !strings.Contains(out, "PINNED") {
		t.Errorf("kubectl get printed\n%s", out)
	}
	if out := framework.Kubectl(t, "describe", "website", "kubia", "-n", namespace); !strings.Contains(out, "History:") {
		t.Errorf("kubectl describe printed\n%s", out)
	}
}

// TestSyncFlood: the number of writes depends on the duration of a flood, not on the number
// of requests.
func TestSyncFlood(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	created := framework.MustCreate(t, framework.NewWebsite(namespace, "kubia"))
	h := newHook(t, framework.AdminConfig(t), namespace)
	watching, err := framework.Websites(t, namespace).Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: created.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), *floodDuration)
	defer cancel()
	var (
		clients sync.WaitGroup
		mu      sync.Mutex
		codes   = map[int]int{}
		took    []time.Duration
	)
	for i := range floodClients {
		clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				body := ""
				if n%2 == 1 {
					body = fmt.Sprintf(`{"commit":"%08x%032x"}`, i, n)
				}
				start := time.Now()
				// A running request is not interrupted, as its effect would be unknown.
				code, _, err := h.send(t.Context(), http.MethodPost, "/sync", body)
				mu.Lock()
				if err != nil {
					t.Error(err)
				}
				codes[code]++
				took = append(took, time.Since(start))
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	last, err := framework.Websites(t, namespace).Get(t.Context(), "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	requests := map[int64]bool{}
	for event := range watching.ResultChan() {
		w, ok := event.Object.(*v1beta1.Website)
		if !ok {
			t.Fatalf("watched %+v", event.Object)
		}
		if w.Status.Sync != nil {
			requests[w.Status.Sync.LastRequest.ID] = true
		}
		if w.ResourceVersion == last.ResourceVersion {
			watching.Stop()
			break
		}
	}
	slices.Sort(took)
	t.Logf("%d requests, answered %v, in %s (median), %s (p99), took %d writes", len(took), codes, took[len(took)/2],
		took[len(took)*99/100], len(requests))
	if accepted := codes[http.StatusAccepted]; accepted+codes[http.StatusTooManyRequests] != len(took) ||
		accepted < floodClients {
		t.Errorf("answered %v, want 202 and perhaps 429", codes)
	}
	// The limit is two writes for each sync that the controller starts: three at once, then one in
	// 5 seconds.
	if limit := 2 * (4 + int(*floodDuration/(5*time.Second))); len(requests) > limit {
		t.Errorf("%d requests took %d writes, want at most %d", len(took), len(requests), limit)
	}
}
