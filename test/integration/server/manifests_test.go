package server

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// manifestsConfig is an admission configuration with manifests in directories of dir.
func manifestsConfig(dir string) string {
	return fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ValidatingAdmissionPolicy
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ValidatingAdmissionPolicyConfiguration
    staticManifestsDir: %[1]s/validating
- name: MutatingAdmissionPolicy
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: MutatingAdmissionPolicyConfiguration
    staticManifestsDir: %[1]s/mutating
- name: ValidatingAdmissionWebhook
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    staticManifestsDir: %[1]s/webhooks
- name: MutatingAdmissionWebhook
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    staticManifestsDir: %[1]s/mutating-webhooks
`, dir)
}

// These manifests have only the required fields, without defaults. A List holds a policy and its
// binding in one file.
const (
	manifestRule = `{apiGroups: [mycontroller.nevermosby.io], apiVersions: [v1beta1], operations: [CREATE], ` +
		`resources: [websites]}`
	validatingPolicy = `apiVersion: v1
kind: List
items:
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicy
  metadata: {name: replicas.static.k8s.io}
  spec:
    matchConstraints: {resourceRules: [` + manifestRule + `]}
    validations: [{expression: "object.spec.replicas < 3", message: at most two replicas}]
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicyBinding
  metadata: {name: replicas.static.k8s.io}
  spec: {policyName: replicas.static.k8s.io, validationActions: [Deny]}
`
	mutatingPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: team.static.k8s.io}
spec:
  matchConstraints: {resourceRules: [` + manifestRule + `]}
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: Object.metadata.labels{team: "web"}}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: team.static.k8s.io}
spec: {policyName: team.static.k8s.io}
`
	webhookManifest = `apiVersion: admissionregistration.k8s.io/v1
kind: %sWebhookConfiguration
metadata: {name: %[2]s.static.k8s.io}
webhooks:
- name: %[2]s.example.com
  clientConfig: {url: %[3]s, caBundle: %[4]s}
  rules: [` + manifestRule + `]
  sideEffects: None
  admissionReviewVersions: [v1]
`
)

// TestAdmissionManifests: policies and webhooks from files apply to Websites, as kube-apiserver's
// apply to its own resources.
func TestAdmissionManifests(t *testing.T) {
	t.Parallel()
	ctx, namespace, dir := t.Context(), framework.NewNamespace(t), t.TempDir()
	denying := framework.NewWebhook(t, func(w *unstructured.Unstructured, response *admissionv1.AdmissionResponse) {
		response.Allowed = w.GetName() != "forbidden"
	})
	labelling := framework.NewWebhook(t, func(_ *unstructured.Unstructured, response *admissionv1.AdmissionResponse) {
		patchType := admissionv1.PatchTypeJSONPatch
		response.PatchType, response.Patch = &patchType,
			[]byte(`[{"op":"add","path":"/metadata/annotations","value":{"example.com/by":"webhook"}}]`)
	})
	files := map[string]string{"validating/policy.yaml": validatingPolicy, "mutating/policy.yaml": mutatingPolicy}
	deny, label := framework.WebhookClient(denying), framework.WebhookClient(labelling)
	files["webhooks/webhook.yaml"] = fmt.Sprintf(webhookManifest, "Validating", "deny", *deny.URL,
		base64.StdEncoding.EncodeToString(deny.CABundle))
	files["mutating-webhooks/webhook.yaml"] = fmt.Sprintf(webhookManifest, "Mutating", "label", *label.URL,
		base64.StdEncoding.EncodeToString(label.CABundle))
	for name, content := range files {
		if err := os.Mkdir(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		framework.WriteFile(t, filepath.Join(dir, name), []byte(content))
	}
	config := filepath.Join(t.TempDir(), "admission.yaml")
	framework.WriteFile(t, config, []byte(manifestsConfig(dir)))
	s := framework.NewServer(t, "--admission-control-config-file="+config)
	websites := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1beta1().Websites(namespace)

	create := func(name string, tweaks ...func(*v1beta1.Website)) (*v1beta1.Website, error) {
		return websites.Create(ctx, framework.NewWebsite(namespace, name, tweaks...), metav1.CreateOptions{})
	}
	created, err := create("kubia")
	if err != nil {
		t.Fatal(err)
	}
	if created.Labels["team"] != "web" || created.Annotations["example.com/by"] != "webhook" {
		t.Errorf("created with labels %v and annotations %v", created.Labels, created.Annotations)
	}
	if _, err := create("large", framework.WithReplicas(3)); err == nil ||
		!strings.Contains(err.Error(), "at most two replicas") {
		t.Errorf("three replicas: %v, want the message of the policy", err)
	}
	if _, err := create("forbidden"); err == nil || !strings.Contains(err.Error(),
		`admission webhook "deny.example.com" denied the request`) {
		t.Errorf("forbidden: %v, want the message of the webhook", err)
	}

	// The server must not start without the policy.
	framework.WriteFile(t, filepath.Join(dir, "validating", "policy.yaml"),
		[]byte(strings.Replace(validatingPolicy, "message:", "massage:", 1)))
	t.Run("misspelled", func(t *testing.T) {
		wrong := framework.StartClosedServer(t, "--admission-control-config-file="+config)
		framework.WaitFor(t, "the server refuses a misspelled policy", func(context.Context) error {
			if log := wrong.Log(t); !strings.Contains(log, `unknown field \"spec.validations[0].massage\"`) &&
				!strings.Contains(log, `unknown field "spec.validations[0].massage"`) {
				return fmt.Errorf("its log: %s", log)
			}
			return nil
		})
	})
}
