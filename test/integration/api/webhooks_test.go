package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubesites/website-apiserver/test/framework"
)

func TestValidatingAdmissionWebhook(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	server := framework.NewWebhook(t, func(w *unstructured.Unstructured, response *admissionv1.AdmissionResponse) {
		// The webhook gets the version in its rule, independent of the client's.
		repository, _, _ := unstructured.NestedString(w.Object, "spec", "source", "git", "repository")
		if w.GetName() == "forbidden" {
			response.Allowed = false
			response.Result = &metav1.Status{Message: "not from " + repository}
		}
	})
	framework.ValidateBy(t, namespace, server, admissionregistrationv1.Fail)
	refused := func(name, want string) func(context.Context) error {
		return func(ctx context.Context) error {
			if _, err := tried(ctx, t, framework.NewV1alpha1(namespace, name)); err == nil ||
				!strings.Contains(err.Error(), want) {
				return fmt.Errorf("got %v, want %q", err, want)
			}
			return nil
		}
	}
	framework.WaitFor(t, "the webhook refuses a Website", refused("forbidden",
		`admission webhook "validate.example.com" denied the request: not from `+
			`https://github.com/nevermosby/kubia-website-example.git`))
	if _, err := tried(t.Context(), t, framework.NewV1alpha1(namespace, "allowed")); err != nil {
		t.Errorf("a request that the webhook allows: %v", err)
	}

	server.Close()
	framework.WaitFor(t, "a webhook that cannot be reached refuses everything",
		refused("allowed", `failed calling webhook "validate.example.com"`))
}

func TestWebhookThatMayFail(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	asked := make(chan struct{}, 1000)
	server := framework.NewWebhook(t, func(_ *unstructured.Unstructured, response *admissionv1.AdmissionResponse) {
		asked <- struct{}{}
		response.Allowed = false
	})
	framework.ValidateBy(t, namespace, server, admissionregistrationv1.Ignore)
	framework.WaitFor(t, "the webhook is asked", func(ctx context.Context) error {
		if _, err := tried(ctx, t, framework.NewV1alpha1(namespace, "kubia")); err == nil {
			return fmt.Errorf("created, asked %d times", len(asked))
		}
		return nil
	})
	server.Close()
	if _, err := tried(t.Context(), t, framework.NewV1alpha1(namespace, "kubia")); err != nil {
		t.Errorf("with a webhook away whose failure is ignored: %v", err)
	}
}

func TestMutatingAdmissionWebhook(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	server := framework.NewWebhook(t, func(_ *unstructured.Unstructured, response *admissionv1.AdmissionResponse) {
		patchType := admissionv1.PatchTypeJSONPatch
		response.PatchType = &patchType
		response.Patch = []byte(`[{"op":"add","path":"/metadata/labels","value":{"team":"web"}},{"op":"replace",` +
			`"path":"/spec/replicas","value":2}]`)
	})
	selector, rule := framework.RuleFor(namespace, admissionregistrationv1.Create)
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	client := framework.Admin(t).Kubernetes.AdmissionregistrationV1().MutatingWebhookConfigurations()
	configuration, err := client.Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mutate.example.com", ClientConfig: framework.WebhookClient(server),
			Rules:             []admissionregistrationv1.RuleWithOperations{rule},
			NamespaceSelector: selector, FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, client, configuration.Name)
	framework.WaitFor(t, "the webhook changes a new Website", func(ctx context.Context) error {
		w, err := tried(ctx, t, framework.NewV1alpha1(namespace, "kubia"))
		if err != nil {
			return err
		}
		if w.Labels["team"] != "web" || *w.Spec.Replicas != 2 {
			return fmt.Errorf("labels %v, %d replicas", w.Labels, *w.Spec.Replicas)
		}
		return nil
	})
}
