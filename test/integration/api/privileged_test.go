package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// newUserWithRole returns the configuration of a user of this test with a ClusterRole in
// the namespace.
func newUserWithRole(t *testing.T, namespace, role string) *rest.Config {
	t.Helper()
	user := namespace + "-" + role
	framework.Bind(t, namespace, user, "ClusterRole", role)
	config, err := framework.Cluster.UserConfig(user)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// orClusterIP ends the messages about the type of the Service.
const orClusterIP = ", or set the type ClusterIP, the default of v1beta1"

// privilegedField is a field that requires a verb of its own.
type privilegedField struct {
	path, verb string
	// orElse is the message's advice for users without the verb.
	orElse string
	// spec is a part of a v1beta1 spec that sets it, as JSON.
	spec string
	set  func(*v1beta1.Website)
}

func (f privilegedField) checkRefused(t *testing.T, what, namespace, name string, alpha bool, err error) {
	t.Helper()
	path, status := f.path, apierrors.APIStatus(nil)
	if alpha {
		path = "metadata.annotations[" + website.AnnotationCarriedFields + "]." + path
	}
	want := fmt.Sprintf("Forbidden: requires %s on websites %q in namespace %q: ask for a role that grants it%s", f.verb,
		name, namespace, f.orElse)
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		t.Errorf("%s: %v, want it invalid", what, err)
		return
	}
	if causes := status.Status().Details.Causes; len(causes) != 1 || causes[0].Field != path || causes[0].Message != want {
		t.Errorf("%s: causes %+v, want one of %s: %s", what, causes, path, want)
	}
}

// TestPrivilegedFields tries to expose a Website and to schedule it on reserved nodes, as a user
// with permission to publish content only.
func TestPrivilegedFields(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	publisher, editor := newUserWithRole(t, namespace, "website-publish"), newUserWithRole(t, namespace, "edit")
	fields := map[string]privilegedField{
		"load-balancer": {path: "spec.service.type", verb: "expose", orElse: orClusterIP,
			spec: `{"service":{"type":"LoadBalancer"}}`,
			set:  func(w *v1beta1.Website) { w.Spec.Service.Type = v1beta1.ServiceTypeLoadBalancer }},
		"node-port": {path: "spec.service.type", verb: "expose", orElse: orClusterIP, spec: `{"service":{"type":"NodePort"}}`,
			set: func(w *v1beta1.Website) { w.Spec.Service.Type = v1beta1.ServiceTypeNodePort }},
		// v1alpha1 defaults to a node port.
		"tolerations": {path: "spec.scheduling.tolerations", verb: "schedule",
			spec: `{"service":{"type":"ClusterIP"},"scheduling":{"tolerations":[{"key":"gpu","operator":"Exists"}]}}`,
			set: func(w *v1beta1.Website) {
				w.Spec.Scheduling.Tolerations = append(w.Spec.Scheduling.Tolerations,
					corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists})
			}},
	}
	for name, field := range fields {
		t.Run(name, func(t *testing.T) { checkPrivileged(t, namespace, name, publisher, editor, field) })
	}

	for user, want := range map[*rest.Config]string{publisher: "no", editor: "yes"} {
		for _, verb := range []string{"expose", "schedule"} {
			stdout, stderr, _ := framework.Cluster.Kubectl(ctx, "--kubeconfig="+framework.WriteKubeconfig(t, user), "auth",
				"can-i", verb, "websites", "-n", namespace)
			if strings.TrimSpace(stdout) != want {
				t.Errorf("kubectl auth can-i %s websites = %q (%s), want %s", verb, stdout, stderr, want)
			}
		}
	}
}

// TestOriginalManifestExposes: v1alpha1 has a node port by default, which requires the verb expose,
// as in v1beta1. The cluster role edit has the verb, so that the original manifest applies; other
// users get a message with the alternative.
func TestOriginalManifestExposes(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	publisher, editor := newUserWithRole(t, namespace, "website-publish"), newUserWithRole(t, namespace, "edit")
	apply := func(user *rest.Config, manifest string) (stderr string, err error) {
		_, stderr, err = framework.Cluster.KubectlWith(ctx, framework.Stdin(manifest),
			"--kubeconfig="+framework.WriteKubeconfig(t, user), "apply", "-n", namespace, "-f", "-")
		return stderr, err
	}
	original, err := os.ReadFile(framework.Example)
	if err != nil {
		t.Fatal(err)
	}
	const needed = `requires expose on websites "kubia" in namespace `
	if stderr, err := apply(publisher, string(original)); err == nil || !strings.Contains(stderr, needed) ||
		!strings.Contains(stderr, orClusterIP) {
		t.Errorf("a publisher applies the original manifest: %v\n%s", err, stderr)
	}
	if stderr, err := apply(editor, string(original)); err != nil {
		t.Errorf("an editor applies the original manifest: %v\n%s", err, stderr)
	}
	exposed, err := framework.Websites(t, namespace).Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil || exposed.Spec.Service.Type != v1beta1.ServiceTypeNodePort {
		t.Errorf("the original manifest has a Service %+v (%v), want a node port", exposed.Spec.Service, err)
	}

	alpha := framework.NewClients(t, publisher).Websites.WebsiteV1alpha1().Websites(namespace)
	internal := framework.NewV1alpha1(namespace, "internal", func(w *v1alpha1.Website) {
		w.Annotations = map[string]string{website.AnnotationCarriedFields: `{"spec":{"service":{"type":"ClusterIP"}}}`}
	})
	if _, err := alpha.Create(ctx, internal, metav1.CreateOptions{}); err != nil {
		t.Errorf("a publisher without a node port, in v1alpha1: %v", err)
	}
	for what, patch := range map[string]string{
		"an empty annotation": `{"metadata":{"annotations":{"` + website.AnnotationCarriedFields + `":"{}"}}}`,
		"another one": `{"metadata":{"annotations":{"` + website.AnnotationCarriedFields +
			`":"{\"spec\":{\"service\":{\"type\":\"NodePort\"}}}"}}}`,
	} {
		_, err := alpha.Patch(ctx, "internal", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `requires expose on websites "internal"`) {
			t.Errorf("a publisher resets the type of the Service by %s: %v, want it invalid", what, err)
		}
	}
	if _, err := alpha.Patch(ctx, "internal", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":null},"spec":{"replicas":2}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("a publisher scales without the annotation: %v", err)
	}
	kept, err := framework.Websites(t, namespace).Get(ctx, "internal", metav1.GetOptions{})
	if err != nil || kept.Spec.Service.Type != v1beta1.ServiceTypeClusterIP || *kept.Spec.Replicas != 2 {
		t.Errorf("after that: %+v (%v), want 2 replicas and ClusterIP as it was", kept.Spec, err)
	}
}

func checkPrivileged(t *testing.T, namespace, name string, publisher, editor *rest.Config, field privilegedField) {
	ctx := t.Context()
	publish := framework.NewClients(t, publisher).Websites
	beta, alpha := publish.WebsiteV1beta1().Websites(namespace), publish.WebsiteV1alpha1().Websites(namespace)
	edit := framework.NewClients(t, editor).Websites.WebsiteV1beta1().Websites(namespace)
	admin := framework.Websites(t, namespace)
	applied := []byte(`{"apiVersion":"mycontroller.nevermosby.io/v1beta1","kind":"Website","metadata":{"name":"` +
		name + `"},"spec":` +
		strings.Replace(field.spec, "{", `{"source":{"git":{"repository":"https://example.com/site.git"}},`, 1) + `}`)
	patch, carried := []byte(`{"spec":`+field.spec+`}`), `{"spec":`+field.spec+`}`
	force := metav1.PatchOptions{FieldManager: "test", Force: ptr.To(true)}
	dryRun := []string{metav1.DryRunAll}
	creations := map[string]func() error{
		"create": func() error {
			_, err := beta.Create(ctx, framework.NewWebsite(namespace, name, field.set), metav1.CreateOptions{})
			return err
		},
		"create, dry run": func() error {
			_, err := beta.Create(ctx, framework.NewWebsite(namespace, name, field.set), metav1.CreateOptions{DryRun: dryRun})
			return err
		},
		"apply": func() error {
			_, err := beta.Patch(ctx, name, types.ApplyPatchType, applied, force)
			return err
		},
		"impersonation": func() error {
			config := framework.Cluster.AdminConfig()
			config.Impersonate.UserName = namespace + "-website-publish"
			_, err := framework.NewClients(t, config).Websites.WebsiteV1beta1().Websites(namespace).Create(ctx,
				framework.NewWebsite(namespace, name, field.set), metav1.CreateOptions{})
			return err
		},
	}
	carryingAlpha := framework.NewV1alpha1(namespace, name, func(w *v1alpha1.Website) {
		w.Annotations = map[string]string{website.AnnotationCarriedFields: carried}
	})
	checkCreations := func(when string) {
		t.Helper()
		for what, create := range creations {
			field.checkRefused(t, when+what, namespace, name, false, create())
		}
		_, err := alpha.Create(ctx, carryingAlpha, metav1.CreateOptions{})
		field.checkRefused(t, when+"create in v1alpha1", namespace, name, true, err)
	}
	checkCreations("")

	if _, err := beta.Create(ctx, framework.NewWebsite(namespace, name), metav1.CreateOptions{}); err != nil {
		t.Fatalf("creating content only: %v", err)
	}
	for _, kind := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		for _, dryRun := range [][]string{nil, dryRun} {
			_, err := beta.Patch(ctx, name, kind, patch, metav1.PatchOptions{DryRun: dryRun})
			field.checkRefused(t, string(kind), namespace, name, false, err)
		}
	}
	_, err := beta.Patch(ctx, name, types.ApplyPatchType, applied, force)
	field.checkRefused(t, "apply to an existing Website", namespace, name, false, err)
	current, err := beta.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	field.set(current)
	current.ResourceVersion = ""
	_, err = beta.Update(ctx, current, metav1.UpdateOptions{})
	field.checkRefused(t, "update", namespace, name, false, err)
	old, err := alpha.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	old.Annotations, old.ResourceVersion = carryingAlpha.Annotations, ""
	_, err = alpha.Update(ctx, old, metav1.UpdateOptions{})
	field.checkRefused(t, "update in v1alpha1", namespace, name, true, err)

	if _, err := edit.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatalf("an editor: %v", err)
	}
	for what, unchanged := range map[string]string{"a label": `{"metadata":{"labels":{"a":"b"}}}`,
		"the path": `{"spec":{"source":{"path":"docs"}}}`, "the field as it is": string(patch)} {
		if _, err := beta.Patch(ctx, name, types.MergePatchType, []byte(unchanged), metav1.PatchOptions{}); err != nil {
			t.Errorf("a publisher changes %s: %v", what, err)
		}
	}
	if _, err := admin.UpdateScale(ctx, name, &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: 2},
	}, metav1.UpdateOptions{}); err != nil {
		t.Errorf("scaling: %v", err)
	}
	framework.WaitFor(t, "the controller writes the status", func(ctx context.Context) error {
		w, err := beta.Get(ctx, name, metav1.GetOptions{})
		if err == nil && w.Status.ObservedGeneration != w.Generation {
			err = fmt.Errorf("observedGeneration is %d of %d", w.Status.ObservedGeneration, w.Generation)
		}
		return err
	})
	foreground := metav1.DeletePropagationForeground
	if err := admin.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "garbage collection has deleted it", func(ctx context.Context) error {
		_, err := beta.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
	checkCreations("after deletion, ")
}

// TestPreviewsOfUsers: a user with permission to create and change Websites, but not to delete
// them, cannot make website-controller delete one by making it a preview.
func TestPreviewsOfUsers(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	user := namespace + "-writer"
	framework.Allow(t, namespace, user, rbacv1.PolicyRule{APIGroups: []string{"mycontroller.nevermosby.io"},
		Resources: []string{"websites"}, Verbs: []string{"get", "create", "patch", "update"}})
	config, err := framework.Cluster.UserConfig(user)
	if err != nil {
		t.Fatal(err)
	}
	writer := framework.NewClients(t, config).Websites
	beta, alpha := writer.WebsiteV1beta1().Websites(namespace), writer.WebsiteV1alpha1().Websites(namespace)
	mine, err := beta.Create(ctx, framework.NewWebsite(namespace, "mine", func(w *v1beta1.Website) {
		w.Spec.Previews = &v1beta1.WebsitePreviews{Branches: []string{"none"}, MaxCount: 1}
	}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	colleagues := framework.MustCreate(t, framework.NewWebsite(namespace, "colleagues"))
	reference := fmt.Sprintf(`"ownerReferences":[{"apiVersion":"mycontroller.nevermosby.io/v1beta1","kind":"Website",`+
		`"name":"mine","uid":%q,"controller":true}]`, mine.UID)
	const (
		label         = `"labels":{"mycontroller.nevermosby.io/preview-of":"mine"}`
		managedFields = `"managedFields":[{"manager":"website-controller","operation":"Apply",` +
			`"apiVersion":"mycontroller.nevermosby.io/v1beta1",` +
			`"time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}}]`
		needed = `requires preview on websites "mine" in namespace`
	)
	for name, metadata := range map[string]string{
		"the label": label, "the owner": reference, "both": label + "," + reference,
		"all": label + "," + reference + "," + managedFields,
	} {
		patch := []byte(`{"metadata":{` + metadata + `}}`)
		_, inBeta := beta.Patch(ctx, colleagues.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		_, inAlpha := alpha.Patch(ctx, colleagues.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		applied := strings.Replace(string(patch), `{"metadata":{`,
			`{"apiVersion":"mycontroller.nevermosby.io/v1beta1","kind":"Website","metadata":{`, 1)
		_, byApply := beta.Patch(ctx, colleagues.Name, types.ApplyPatchType,
			[]byte(strings.ReplaceAll(applied, ","+managedFields, "")), metav1.PatchOptions{FieldManager: "test"})
		created := framework.NewWebsite(namespace, "created", func(w *v1beta1.Website) {
			if err := json.Unmarshal(patch, w); err != nil {
				t.Fatal(err)
			}
		})
		_, byCreate := beta.Create(ctx, created, metav1.CreateOptions{})
		for how, err := range map[string]error{"v1beta1": inBeta, "v1alpha1": inAlpha, "apply": byApply, "create": byCreate} {
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), needed) {
				t.Errorf("%s, %s: %v, want it invalid: %s", name, how, err, needed)
			}
		}
	}
	// Managed fields alone prove nothing, as any client may write them.
	if _, err := beta.Patch(ctx, colleagues.Name, types.MergePatchType, []byte(`{"metadata":{`+managedFields+`}}`),
		metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
}

// TestPrivilegedFieldsOfPolicies: fields that admission sets on a Website are authorized as if the
// user had set them.
func TestPrivilegedFieldsOfPolicies(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	selector, rule := framework.RuleFor(namespace, admissionregistrationv1.Create, admissionregistrationv1.Update)
	bindMutating(t, newMutatingPolicy(t, rule,
		`Object{spec: Object.spec{service: Object.spec.service{type: "LoadBalancer"}}}`), selector)
	created := func(ctx context.Context, config *rest.Config) (*v1beta1.Website, error) {
		return framework.NewClients(t, config).Websites.WebsiteV1beta1().Websites(namespace).
			Create(ctx, framework.NewWebsite(namespace, "kubia"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	editor := newUserWithRole(t, namespace, "website-edit")
	framework.WaitFor(t, "the policy changes the type", func(ctx context.Context) error {
		w, err := created(ctx, editor)
		if err == nil && w.Spec.Service.Type != v1beta1.ServiceTypeLoadBalancer {
			err = errors.New("it is as it was sent")
		}
		return err
	})
	_, err := created(ctx, newUserWithRole(t, namespace, "website-publish"))
	privilegedField{path: "spec.service.type", verb: "expose", orElse: orClusterIP}.checkRefused(t, "create", namespace,
		"kubia", false, err)
}

// TestExamplePolicies applies the policies that the documentation recommends.
func TestExamplePolicies(t *testing.T) {
	t.Parallel()
	namespace, file := framework.NewNamespace(t), framework.Path("artifacts", "examples", "policies", "limits.yaml")
	framework.Kubectl(t, "label", "namespace", namespace, "website-limits=standard")
	framework.Kubectl(t, "apply", "-f", file)
	t.Cleanup(func() {
		if _, stderr, err := framework.Cluster.Kubectl(context.Background(), "delete", "-f", file); err != nil {
			t.Errorf("deleting the policies: %v\n%s", err, stderr)
		}
	})
	beta := func(spec string) string { return betaManifest("kubia", validSource, spec) }
	apply := func(ctx context.Context, manifest string) (string, error) {
		_, stderr, err := framework.Cluster.KubectlWith(ctx, framework.Stdin(manifest), "apply", "--dry-run=server", "-n",
			namespace, "-f", "-")
		return stderr, err
	}
	const replicas, cpu, memory = "at most 5 in this namespace, not 6", "at most 1 cpu per container in this namespace",
		"at most 512Mi memory per container in this namespace"
	denied := map[string]struct{ manifest, want string }{
		"replicas":             {beta("replicas: 6"), replicas},
		"replicas in v1alpha1": {manifest("kubia", validRepo, validDeployment, "replicas: 6"), replicas},
		"cpu limit":            {beta("resources: {server: {limits: {cpu: 1001m}}}"), cpu},
		"cpu request of sync":  {beta("resources: {sync: {requests: {cpu: 2}, limits: {cpu: 2}}}"), cpu},
		"memory":               {beta("resources: {server: {requests: {memory: 64Mi}, limits: {memory: 1Gi}}}"), memory},
	}
	for name, test := range denied {
		framework.WaitFor(t, "the policies deny "+name, func(ctx context.Context) error {
			if stderr, err := apply(ctx, test.manifest); err == nil || !strings.Contains(stderr, test.want) {
				return fmt.Errorf("%w: %s", err, stderr)
			}
			return nil
		})
	}
	for _, spec := range []string{"replicas: 5",
		"resources: {server: {requests: {cpu: 500m, memory: 512Mi}, limits: {cpu: 1, memory: 512Mi}}}", "suspend: false"} {
		if stderr, err := apply(t.Context(), beta(spec)); err != nil {
			t.Errorf("%s: %v\n%s", spec, err, stderr)
		}
	}
	framework.MustCreate(t, framework.NewWebsite(namespace, "scaled"))
	if stderr := framework.KubectlRefused(t, "", "scale", "website", "scaled", "-n", namespace,
		"--replicas=6"); !strings.Contains(stderr, replicas) {
		t.Errorf("kubectl scale printed %q, want %q", stderr, replicas)
	}
	framework.Kubectl(t, "scale", "website", "scaled", "-n", namespace, "--replicas=0")
}
