package framework

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// NewWebhook serves an admission webhook on this machine. review fills in the
// response to a request about a Website.
func NewWebhook(
	t *testing.T, review func(w *unstructured.Unstructured, response *admissionv1.AdmissionResponse),
) *httptest.Server {
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

// WebhookClient returns the client configuration by which API servers reach the webhook.
func WebhookClient(server *httptest.Server) admissionregistrationv1.WebhookClientConfig {
	url := server.URL
	return admissionregistrationv1.WebhookClientConfig{
		URL:      &url,
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}

// ValidateBy registers a webhook for the creation of Websites in a namespace.
func ValidateBy(t *testing.T, namespace string, server *httptest.Server,
	policy admissionregistrationv1.FailurePolicyType) {
	t.Helper()
	selector, rule := RuleFor(namespace, admissionregistrationv1.Create)
	none := admissionregistrationv1.SideEffectClassNone
	client := Admin(t).Kubernetes.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration, err := client.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.example.com", ClientConfig: WebhookClient(server),
			Rules:             []admissionregistrationv1.RuleWithOperations{rule},
			NamespaceSelector: selector, FailurePolicy: &policy, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	DeleteAfter(t, client, configuration.Name)
}

// RuleFor makes a policy or webhook apply to Websites of one namespace, so that tests do not affect
// each other.
func RuleFor(namespace string, operations ...admissionregistrationv1.OperationType) (*metav1.LabelSelector,
	admissionregistrationv1.RuleWithOperations) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
	return selector, admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		// Requests in v1alpha1 are converted for it.
		Rule: admissionregistrationv1.Rule{APIGroups: []string{"mycontroller.nevermosby.io"},
			APIVersions: []string{"v1beta1"}, Resources: []string{"websites"}},
	}
}
