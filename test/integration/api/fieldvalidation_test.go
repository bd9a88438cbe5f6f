package api

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestFieldValidation sends fields that no version has, in every encoding and verb, and requests
// that they are rejected, reported or ignored.
func TestFieldValidation(t *testing.T) {
	t.Parallel()
	const (
		unknown    = `unknown field "spec.branch"`
		duplicated = `duplicate field "spec.replicas"`
	)
	body := map[string]string{
		"v1alpha1": `{"apiVersion":"mycontroller.nevermosby.io/v1alpha1","kind":"Website","metadata":{"name":"kubia"},` +
			`"spec":{"deploymentName":"kubia","gitRepo":"https://example.com/site.git","branch":"main","replicas":1,` +
			`"replicas":1}}`,
		"v1beta1": `{"apiVersion":"mycontroller.nevermosby.io/v1beta1","kind":"Website","metadata":{"name":"kubia"},` +
			`"spec":{"source":{"git":{"repository":"https://example.com/site.git"}},"branch":"main","replicas":1,"replicas":1}}`,
	}
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		t.Run(version, func(t *testing.T) {
			namespace := framework.NewNamespace(t)
			writes := []struct {
				name, method, path, contentType, body string
			}{
				{name: "create", method: http.MethodPost, contentType: "application/json", body: body[version]},
				{name: "update", method: http.MethodPut, path: "/kubia", contentType: "application/json", body: body[version]},
				{name: "merge patch", method: http.MethodPatch, path: "/kubia", contentType: "application/merge-patch+json",
					body: `{"spec":{"branch":"main","replicas":1,"replicas":1}}`},
			}
			for _, write := range writes {
				send := func(mode string) response {
					return request(t, write.method, websitesPath(version, namespace, write.path)+"?fieldValidation="+mode, write.body,
						"Content-Type", write.contentType)
				}
				strict := send("Strict")
				if strict.code != http.StatusBadRequest && strict.code != http.StatusUnprocessableEntity ||
					!strings.Contains(string(strict.body), `unknown field \"spec.branch\"`) ||
					!strings.Contains(string(strict.body), `duplicate field \"spec.replicas\"`) {
					t.Errorf("%s, strict: %d %s, want both fields refused", write.name, strict.code, strict.body)
				}
				// An ignored field does not reject the write, so the next one updates the Website.
				ignored := send("Ignore")
				if ignored.code >= 300 || mentions(ignored.warnings(), unknown) || mentions(ignored.warnings(), duplicated) {
					t.Errorf("%s, ignored: %d %s, warnings %q; want neither", write.name, ignored.code, ignored.body,
						ignored.warnings())
				}
				if write.method == http.MethodPost {
					framework.Kubectl(t, "delete", "website", "kubia", "-n", namespace)
				}
				warned := send("Warn")
				if warned.code >= 300 || !mentions(warned.warnings(), unknown) || !mentions(warned.warnings(), duplicated) {
					t.Errorf("%s, warned: %d %s, warnings %q; want both fields in them", write.name, warned.code, warned.body,
						warned.warnings())
				}
			}
			// Apply records the owner of each field, so it rejects unknown fields.
			applied := request(t, http.MethodPatch,
				websitesPath(version, namespace, "/kubia?fieldManager=team&fieldValidation=Ignore"),
				strings.Replace(body[version], `,"replicas":1,"replicas":1`, "", 1), "Content-Type", "application/apply-patch+yaml")
			if applied.code < 400 || !strings.Contains(string(applied.body), ".spec.branch: field not declared in schema") {
				t.Errorf("apply of an unknown field: %d %s, want it refused", applied.code, applied.body)
			}
		})
	}
}

// TestFieldValidationOfTheAnnotation: fields of a later server in the annotation of v1alpha1 are
// unknown to this one. They are treated as unknown fields of the request, and not stored.
func TestFieldValidationOfTheAnnotation(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	const unknown = `metadata.annotations[` + website.AnnotationCarriedFields + `]: unknown field "spec.archive"`
	annotations := `"annotations":{"` + website.AnnotationCarriedFields +
		`":"{\"spec\":{\"suspend\":false,\"archive\":{\"secretRef\":{\"name\":\"s\"}}}}"}`
	whole := `{"apiVersion":"mycontroller.nevermosby.io/v1alpha1","kind":"Website","metadata":{"name":"kubia",` +
		annotations +
		`},"spec":{"deploymentName":"kubia","gitRepo":"https://example.com/site.git"}}`
	for _, write := range []struct{ name, method, path, contentType, body string }{
		{"create", http.MethodPost, "?", "application/json", whole},
		{"update", http.MethodPut, "/kubia?", "application/json", whole},
		{"merge patch", http.MethodPatch, "/kubia?", "application/merge-patch+json", `{"metadata":{` + annotations + `}}`},
		{"apply", http.MethodPatch, "/kubia?fieldManager=team&force=true&", "application/apply-patch+yaml", whole},
		{"apply a new one", http.MethodPatch, "/applied?fieldManager=team&", "application/apply-patch+yaml",
			strings.ReplaceAll(whole, `"kubia"`, `"applied"`)},
		{"status", http.MethodPatch, "/kubia/status?", "application/merge-patch+json", `{"metadata":{` + annotations + `}}`},
	} {
		send := func(mode string) response {
			return request(t, write.method, websitesPath("v1alpha1", namespace, write.path)+"fieldValidation="+mode, write.body,
				"Content-Type", write.contentType)
		}
		if strict := send("Strict"); strict.code != http.StatusUnprocessableEntity ||
			!strings.Contains(string(strict.body), `unknown field \"spec.archive\"`) {
			t.Errorf("%s, strict: %d %s, want it refused", write.name, strict.code, strict.body)
		}
		if warned := send("Warn"); warned.code >= 300 || !mentions(warned.warnings(), unknown) {
			t.Errorf("%s, warned: %d %s, warnings %q; want %q", write.name, warned.code, warned.body, warned.warnings(), unknown)
		}
		if write.method == http.MethodPost {
			continue
		}
		if ignored := send("Ignore"); ignored.code >= 300 || mentions(ignored.warnings(), unknown) {
			t.Errorf("%s, ignored: %d %s, warnings %q; want none", write.name, ignored.code, ignored.body, ignored.warnings())
		}
	}
	for _, name := range []string{"kubia", "applied"} {
		got, err := framework.Websites(t, namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || len(got.Annotations) != 0 || got.Spec.Suspend == nil || *got.Spec.Suspend {
			t.Errorf("%s is stored with annotations %v and suspend %v (%v), want none and false", name, got.Annotations,
				got.Spec.Suspend, err)
		}
	}
}

// mentions reports whether a warning, in the form of the header, contains a text.
func mentions(warnings []string, what string) bool {
	return strings.Contains(strings.ReplaceAll(strings.Join(warnings, "\n"), `\"`, `"`), what)
}
