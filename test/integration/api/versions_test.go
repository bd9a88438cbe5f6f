package api

import (
	"context"
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestOldClientLosesNothing scales a Website of v1beta1 as a client of v1alpha1.
func TestOldClientLosesNothing(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	beta := framework.Admin(t).Websites.WebsiteV1beta1().Websites(namespace)
	created, err := beta.Create(ctx, framework.NewWebsite(namespace, "kubia", framework.Detailed), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.WaitSettled(t, namespace, "kubia")

	old := framework.MustGet(t, framework.NewV1alpha1(namespace, "kubia"))
	old.Spec.Replicas = ptr.To[int32](2)
	if _, err := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace).Update(ctx, old,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := beta.Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := created.Spec.DeepCopy()
	want.Replicas = ptr.To[int32](2)
	if !apiequality.Semantic.DeepEqual(got.Spec, *want) {
		t.Errorf("spec = %+v, want %+v", got.Spec, *want)
	}
	if len(got.Annotations) != 0 {
		t.Errorf("annotations = %v: the annotation with v1alpha1's missing fields is left over", got.Annotations)
	}
}

// alphaWebsites is kubectl's argument for Websites of v1alpha1.
const alphaWebsites = "websites.v1alpha1.mycontroller.nevermosby.io"

// TestV1alpha1WithoutTheAnnotation: every write without it keeps the fields that this version
// lacks, and an empty one resets them.
func TestV1alpha1WithoutTheAnnotation(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	created, err := websites.Create(ctx, framework.NewWebsite(namespace, "kubia", framework.Detailed,
		func(w *v1beta1.Website) {
			w.Spec.Source.Git.Ref = &v1beta1.GitReference{Commit: strings.Repeat("a", 40)}
			w.Spec.Source.Git.SecretRef = &v1beta1.SecretReference{Name: "token"}
		}), metav1.CreateOptions{FieldManager: "team"})
	if err != nil {
		t.Fatal(err)
	}
	framework.WaitSettled(t, namespace, "kubia")
	export := func() *unstructured.Unstructured {
		w := &unstructured.Unstructured{}
		if err := w.UnmarshalJSON(
			[]byte(framework.Kubectl(t, "get", alphaWebsites, "kubia", "-n", namespace, "-o", "json", "--show-managed-fields")),
		); err != nil {
			t.Fatal(err)
		}
		return w
	}
	write := func(w *unstructured.Unstructured, args ...string) string {
		data, err := w.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var stderr string
		// kubectl replace sends the resource version that it has read: a write of the controller in
		// between causes a conflict.
		framework.WaitFor(t, "there is no conflict", func(ctx context.Context) error {
			_, stderr, err = framework.Cluster.KubectlWith(ctx, framework.Stdin(string(data)),
				append(args, "-n", namespace, "-f", "-")...)
			if err != nil && !strings.Contains(stderr, "Error from server (Conflict)") {
				t.Fatalf("kubectl %s: %v\n%s", args, err, stderr)
			}
			return err
		})
		return stderr
	}
	mustHave := func(what string, replicas int32, want v1beta1.WebsiteSpec) {
		t.Helper()
		got, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want.Replicas = &replicas
		if !apiequality.Semantic.DeepEqual(got.Spec, want) {
			t.Fatalf("%s: spec = %+v, want %+v", what, got.Spec, want)
		}
	}

	exported := export()
	bare := func(replicas int64) *unstructured.Unstructured {
		w := exported.DeepCopy()
		w.SetAnnotations(nil)
		w.SetResourceVersion("")
		w.SetManagedFields(nil)
		if err := unstructured.SetNestedField(w.Object, replicas, "spec", "replicas"); err != nil {
			t.Fatal(err)
		}
		return w
	}
	write(bare(2), "replace")
	mustHave("replace", 2, created.Spec)
	framework.Kubectl(t, "patch", alphaWebsites, "kubia", "-n", namespace, "--type=merge", "-p",
		`{"metadata":{"annotations":null},"spec":{"replicas":3}}`)
	mustHave("patch", 3, created.Spec)
	write(bare(4), "apply")
	mustHave("apply", 4, created.Spec)
	write(bare(5), "apply", "--server-side", "--force-conflicts")
	mustHave("server-side apply", 5, created.Spec)

	stored, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range stored.ManagedFields {
		if fields := entry.FieldsV1.GetRawString(); entry.Manager == "team" && !strings.Contains(fields, `"f:path"`) {
			t.Errorf("team manages %s, want spec.source.path among them", fields)
		}
	}

	// An old export reverts newer fields, and a warning tells the user.
	framework.Kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p",
		`{"spec":{"source":{"path":"newer"}}}`)
	exported.SetResourceVersion("")
	if stderr := write(exported, "replace"); !strings.Contains(stderr,
		"changes spec.source.path; remove the annotation to keep the stored values") {
		t.Errorf("replacing with an old export printed %q, want a warning that names spec.source.path", stderr)
	}
	mustHave("old export", 1, created.Spec)

	framework.Kubectl(t, "annotate", alphaWebsites, "kubia", "-n", namespace, "--overwrite",
		website.AnnotationCarriedFields+"={}")
	reset := created.Spec.DeepCopy()
	reset.Source = v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: created.Spec.Source.Git.Repository,
		Submodules: v1beta1.SubmodulesNone, CredentialScope: v1beta1.CredentialScopeRepository}}
	reset.Polling.PeriodSeconds, reset.Serving.Redirects, reset.Service.Type = 60, nil, v1beta1.ServiceTypeNodePort
	mustHave("empty annotation", 1, *reset)
}

// TestUnreadableAnnotation: an annotation that cannot be parsed is the client's error in
// every write.
func TestUnreadableAnnotation(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	// "kubectl replace" sends the resource version that it has read, which a status write would
	// make conflict.
	framework.WaitSettled(t, namespace, "kubia")
	damaged := strings.Replace(manifest("NAME", validRepo, validDeployment), "metadata: {",
		"metadata: {annotations: {"+website.AnnotationCarriedFields+": '{\"spec\":'}, ", 1)
	patch := `{"metadata":{"annotations":{"` + website.AnnotationCarriedFields + `":"{\"spec\":{\"suspend\":\"yes\"}}"}}}`
	// The second apply of a manager is merged with its first.
	framework.KubectlWith(t, framework.Stdin(manifest("kubia", validRepo, validDeployment)), "apply", "--server-side",
		"--field-manager=twice", "--force-conflicts", "-n", namespace, "-f", "-")
	writes := map[string]struct {
		name string
		args []string
	}{
		"second server-side apply": {name: "kubia",
			args: []string{"apply", "--server-side", "--field-manager=twice", "-f", "-"}},
		"create":            {name: "other", args: []string{"create", "-f", "-"}},
		"update":            {name: "kubia", args: []string{"replace", "-f", "-"}},
		"apply":             {name: "kubia", args: []string{"apply", "-f", "-"}},
		"server-side apply": {name: "kubia", args: []string{"apply", "--server-side", "-f", "-"}},
		"create by apply":   {name: "other", args: []string{"apply", "--server-side", "-f", "-"}},
		"patch":             {args: []string{"patch", alphaWebsites, "kubia", "--type=merge", "-p", patch}},
		"status": {args: []string{"patch", alphaWebsites, "kubia", "--subresource=status",
			"--type=merge", "-p", patch}},
	}
	for name, test := range writes {
		for _, dryRun := range []string{"none", "server"} {
			t.Run(name+", dry run "+dryRun, func(t *testing.T) {
				stderr := framework.KubectlRefused(t, strings.Replace(damaged, "NAME", test.name, 1),
					append(test.args, "-n", namespace, "--dry-run="+dryRun)...)
				if !strings.Contains(stderr, "is invalid: metadata.annotations["+website.AnnotationCarriedFields+"]: Invalid "+
					"value: must be the fields of v1beta1 as JSON") {
					t.Errorf("kubectl printed %q, want a field error", stderr)
				}
			})
		}
	}
}

// TestDeploymentNameLeftOut: the name defaults to the Website's on creation, and to the current one
// on updates.
func TestDeploymentNameLeftOut(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	write := func(verb, name string, spec ...string) {
		t.Helper()
		if _, stderr, err := framework.Cluster.KubectlWith(t.Context(), framework.Stdin(betaManifest(name, spec...)), verb,
			"-n", namespace, "-f", "-"); err != nil {
			t.Fatalf("kubectl %s: %v\n%s", verb, err, stderr)
		}
	}
	mustBe := func(name, want string) {
		t.Helper()
		if got := framework.Kubectl(t, "get", "website", name, "-n", namespace, "-o",
			"jsonpath={.spec.deploymentName}"); got != want {
			t.Errorf("deploymentName = %q, want %q", got, want)
		}
	}
	write("create", "unnamed", validSource)
	mustBe("unnamed", "unnamed")
	write("create", "named", validSource, validDeployment)
	framework.WaitSettled(t, namespace, "named")
	write("replace", "named", validSource, "replicas: 2")
	mustBe("named", "kubia-website")
	framework.WaitSettled(t, namespace, "named")
	stderr := framework.KubectlRefused(t, manifest("named", validRepo), "replace", "-n", namespace, "-f", "-")
	if want := "spec.deploymentName: Required value: the name of the Deployment"; !strings.Contains(stderr, want) {
		t.Errorf("kubectl replace in v1alpha1 printed %q, want %q", stderr, want)
	}
}
