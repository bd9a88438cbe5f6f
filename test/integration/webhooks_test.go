package integration

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// newWebhook serves an admission webhook on this machine. review fills in the
// response to a request about a Website.
func newWebhook(t *testing.T, review func(w *unstructured.Unstructured, response *admissionv1.AdmissionResponse)) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var about admissionv1.AdmissionReview
		website := &unstructured.Unstructured{}
		if err := json.NewDecoder(r.Body).Decode(&about); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := website.UnmarshalJSON(about.Request.Object.Raw); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		about.Response = &admissionv1.AdmissionResponse{UID: about.Request.UID, Allowed: true}
		review(website, about.Response)
		about.Request = nil
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(about)
	}))
	t.Cleanup(server.Close)
	return server
}

// webhookClient is how API servers reach the webhook.
func webhookClient(server *httptest.Server) admissionregistrationv1.WebhookClientConfig {
	url := server.URL
	return admissionregistrationv1.WebhookClientConfig{
		URL:      &url,
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}

// validateBy has a webhook asked about every new Website in a namespace.
func validateBy(t *testing.T, namespace string, server *httptest.Server, policy admissionregistrationv1.FailurePolicyType) {
	t.Helper()
	selector, rule := ours(namespace, admissionregistrationv1.Create)
	none := admissionregistrationv1.SideEffectClassNone
	client := admin(t).kubernetes.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration, err := client.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.example.com", ClientConfig: webhookClient(server), Rules: []admissionregistrationv1.RuleWithOperations{rule},
			NamespaceSelector: selector, FailurePolicy: &policy, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	deleteInTheEnd(t, client, configuration.Name)
}

func TestValidatingAdmissionWebhook(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	server := newWebhook(t, func(w *unstructured.Unstructured, response *admissionv1.AdmissionResponse) {
		// In the version that the rule names, whatever the client has sent.
		repository, _, _ := unstructured.NestedString(w.Object, "spec", "source", "repository")
		if w.GetName() == "forbidden" {
			response.Allowed = false
			response.Result = &metav1.Status{Message: "not from " + repository}
		}
	})
	validateBy(t, namespace, server, admissionregistrationv1.Fail)
	refused := func(name, want string) func(context.Context) error {
		return func(ctx context.Context) error {
			if _, err := tried(ctx, t, newWebsite(namespace, name)); err == nil || !strings.Contains(err.Error(), want) {
				return fmt.Errorf("got %v, want %q", err, want)
			}
			return nil
		}
	}
	waitFor(t, "the webhook refuses a Website", refused("forbidden",
		`admission webhook "validate.example.com" denied the request: not from https://github.com/nevermosby/kubia-website-example.git`))
	if _, err := tried(t.Context(), t, newWebsite(namespace, "allowed")); err != nil {
		t.Errorf("what the webhook allows: %v", err)
	}

	server.Close()
	waitFor(t, "a webhook that cannot be reached refuses everything", refused("allowed", `failed calling webhook "validate.example.com"`))
}

func TestWebhookThatMayFail(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	asked := make(chan struct{}, 1000)
	server := newWebhook(t, func(_ *unstructured.Unstructured, response *admissionv1.AdmissionResponse) {
		asked <- struct{}{}
		response.Allowed = false
	})
	validateBy(t, namespace, server, admissionregistrationv1.Ignore)
	waitFor(t, "the webhook is asked", func(ctx context.Context) error {
		if _, err := tried(ctx, t, newWebsite(namespace, "kubia")); err == nil {
			return fmt.Errorf("created, asked %d times", len(asked))
		}
		return nil
	})
	server.Close()
	if _, err := tried(t.Context(), t, newWebsite(namespace, "kubia")); err != nil {
		t.Errorf("with a webhook away whose failure is ignored: %v", err)
	}
}

func TestMutatingAdmissionWebhook(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	server := newWebhook(t, func(_ *unstructured.Unstructured, response *admissionv1.AdmissionResponse) {
		patchType := admissionv1.PatchTypeJSONPatch
		response.PatchType = &patchType
		response.Patch = []byte(`[{"op":"add","path":"/metadata/labels","value":{"team":"web"}},{"op":"replace","path":"/spec/replicas","value":2}]`)
	})
	selector, rule := ours(namespace, admissionregistrationv1.Create)
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	client := admin(t).kubernetes.AdmissionregistrationV1().MutatingWebhookConfigurations()
	configuration, err := client.Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mutate.example.com", ClientConfig: webhookClient(server), Rules: []admissionregistrationv1.RuleWithOperations{rule},
			NamespaceSelector: selector, FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	deleteInTheEnd(t, client, configuration.Name)
	waitFor(t, "the webhook changes a new Website", func(ctx context.Context) error {
		w, err := tried(ctx, t, newWebsite(namespace, "kubia"))
		if err != nil {
			return err
		}
		if w.Labels["team"] != "web" || *w.Spec.Replicas != 2 {
			return fmt.Errorf("labels %v, %d replicas", w.Labels, *w.Spec.Replicas)
		}
		return nil
	})
}
