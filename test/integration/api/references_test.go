package api

import (
	"context"
	"errors"
	"fmt"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// secretOwners are two users of a namespace with permission to edit Websites. Only one of them may
// get the Secret "key".
type secretOwners struct {
	namespace  string
	rich, poor *rest.Config
	poorName   string
}

func newSecretOwners(t *testing.T) secretOwners {
	t.Helper()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	if _, err := framework.Admin(t).Kubernetes.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "key"},
		Data:       map[string][]byte{"username": []byte("me"), "password": []byte("secret")},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The users exist in this test only, as website-apiserver caches denials for seconds.
	rich, poor := namespace+"-rich", namespace+"-poor"
	framework.Bind(t, namespace, rich, "ClusterRole", "website-edit")
	framework.Allow(t, namespace, rich, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"},
		ResourceNames: []string{"key"}, Verbs: []string{"get"}})
	framework.Bind(t, namespace, poor, "ClusterRole", "website-edit")
	owners := secretOwners{namespace: namespace, poorName: poor}
	for user, config := range map[string]**rest.Config{rich: &owners.rich, poor: &owners.poor} {
		var err error
		if *config, err = framework.Cluster.UserConfig(user); err != nil {
			t.Fatal(err)
		}
	}
	return owners
}

// newPrivate returns a Website with credentials from a Secret.
func newPrivate(namespace, name, secret string) *v1beta1.Website {
	w := framework.NewWebsite(namespace, name, framework.Detailed)
	w.Spec.Source.Git.SecretRef = &v1beta1.SecretReference{Name: secret}
	return w
}

// checkSecretRefused checks that an error names the field and the permission.
func checkSecretRefused(t *testing.T, what, field, namespace, secret string, err error) {
	t.Helper()
	detail := fmt.Sprintf(`Forbidden: requires get on secrets %q in namespace %q: ask for a role that grants it`,
		secret, namespace)
	status := apierrors.APIStatus(nil)
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		t.Errorf("%s: %v, want it invalid", what, err)
		return
	}
	causes := status.Status().Details.Causes
	if len(causes) != 1 || causes[0].Field != field || causes[0].Message != detail {
		t.Errorf("%s: causes %+v, want one of %s: %s", what, causes, field, detail)
	}
}

const (
	secretField        = "spec.source.git.secretRef"
	carriedSecretField = "metadata.annotations[" + website.AnnotationCarriedFields + "]." + secretField
	usersField         = "spec.access.basicAuth.secretRef"
	carriedUsersField  = "metadata.annotations[" + website.AnnotationCarriedFields + "]." + usersField
	carriedSecret      = `{"spec":{"source":{"git":{"secretRef":{"name":"key"}}}}}`
)

// TestSecretReferences tries to make a pod send a Secret to a user without permission to get it.
func TestSecretReferences(t *testing.T) {
	t.Parallel()
	ctx, owners := t.Context(), newSecretOwners(t)
	namespace := owners.namespace
	poor, rich := framework.NewClients(t, owners.poor).Websites, framework.NewClients(t, owners.rich).Websites
	beta, alpha := poor.WebsiteV1beta1().Websites(namespace), poor.WebsiteV1alpha1().Websites(namespace)
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	force := metav1.PatchOptions{FieldManager: "test", Force: new(bool)}
	*force.Force = true

	creations := map[string]struct {
		create func() error
		field  string
	}{
		"create": {field: secretField, create: func() error {
			_, err := beta.Create(ctx, newPrivate(namespace, "private", "key"), metav1.CreateOptions{})
			return err
		}},
		"dry run": {field: secretField, create: func() error {
			_, err := beta.Create(ctx, newPrivate(namespace, "private", "key"), dryRun)
			return err
		}},
		"generated name": {field: secretField, create: func() error {
			w := newPrivate(namespace, "", "key")
			w.GenerateName = "private-"
			_, err := beta.Create(ctx, w, metav1.CreateOptions{})
			return err
		}},
		"v1alpha1": {field: carriedSecretField, create: func() error {
			_, err := alpha.Create(ctx, framework.NewV1alpha1(namespace, "private", func(w *v1alpha1.Website) {
				w.Annotations = map[string]string{website.AnnotationCarriedFields: carriedSecret}
			}), metav1.CreateOptions{})
			return err
		}},
		"apply": {field: secretField, create: func() error {
			_, err := beta.Patch(ctx, "private", types.ApplyPatchType, []byte(betaManifest("private",
				"source: {git: {repository: 'https://example.com/site.git', secretRef: {name: key}}}")), force)
			return err
		}},
		"apply, dry run": {field: secretField, create: func() error {
			options := force
			options.DryRun = []string{metav1.DryRunAll}
			_, err := beta.Patch(ctx, "private", types.ApplyPatchType, []byte(betaManifest("private",
				"source: {git: {repository: 'https://example.com/site.git', secretRef: {name: key}}}")), options)
			return err
		}},
		"impersonation": {field: secretField, create: func() error {
			config := framework.Cluster.AdminConfig()
			config.Impersonate.UserName = owners.poorName
			_, err := framework.NewClients(t, config).Websites.WebsiteV1beta1().Websites(namespace).Create(ctx,
				newPrivate(namespace, "private", "key"), metav1.CreateOptions{})
			return err
		}},
	}
	for name, test := range creations {
		checkSecretRefused(t, name, test.field, namespace, "key", test.create())
	}
	_, err := beta.Create(ctx, newPrivate(namespace, "private", "absent"), metav1.CreateOptions{})
	checkSecretRefused(t, "a Secret that does not exist", secretField, namespace, "absent", err)
	if list, err := beta.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Fatalf("after all that there are %d Websites (%v), want none", len(list.Items), err)
	}

	richly := rich.WebsiteV1beta1().Websites(namespace)
	if _, err := richly.Create(ctx, newPrivate(namespace, "other", "absent"),
		metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("with another Secret than the one that the user may get: %v, want it invalid", err)
	}
	created, err := richly.Create(ctx, newPrivate(namespace, "kubia", "key"), metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("the user with permission to get the Secret: %v", err)
	}
	changes := map[string]struct {
		kind         types.PatchType
		patch, field string
		alpha        bool
		options      metav1.PatchOptions
	}{
		"merge patch of the repository": {kind: types.MergePatchType,
			patch: `{"spec":{"source":{"git":{"repository":"https://evil.example.com/x.git"}}}}`, field: secretField},
		"that, dry run": {
			kind: types.MergePatchType, patch: `{"spec":{"source":{"git":{"repository":"https://evil.example.com/x.git"}}}}`,
			field: secretField, options: metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}},
		},
		"JSON patch of the branch": {kind: types.JSONPatchType,
			patch: `[{"op":"replace","path":"/spec/source/git/ref/branch","value":"evil"}]`, field: secretField},
		"strategic merge of submodules": {kind: types.StrategicMergePatchType,
			patch: `{"spec":{"source":{"git":{"submodules":"Recursive"}}}}`, field: secretField},
		"merge patch of the scope": {kind: types.MergePatchType,
			patch: `{"spec":{"source":{"git":{"credentialScope":"Host"}}}}`, field: secretField},
		"apply of the repository": {kind: types.ApplyPatchType, patch: betaManifest("kubia",
			"source: {git: {repository: 'https://evil.example.com/x.git'}}"), field: secretField, options: force},
		"v1alpha1": {kind: types.MergePatchType,
			patch: `{"spec":{"gitRepo":"https://evil.example.com/x.git"}}`, field: carriedSecretField, alpha: true},
		"other submodules, in v1alpha1": {
			kind: types.MergePatchType, patch: `{"metadata":{"annotations":{"` + website.AnnotationCarriedFields +
				`":"{\"spec\":{\"source\":{\"git\":{\"ref\":{\"branch\":\"live\"},\"submodules\":\"Recursive\",` +
				`\"secretRef\":{\"name\":\"key\"}},\"path\":\"public\"}}}"}}}`, field: carriedSecretField, alpha: true,
		},
		"users of the site": {kind: types.MergePatchType,
			patch: `{"spec":{"access":{"basicAuth":{"secretRef":{"name":"key"}}}}}`, field: usersField},
		"users, in v1alpha1": {
			kind: types.MergePatchType, patch: `{"metadata":{"annotations":{"` + website.AnnotationCarriedFields +
				`":"{\"spec\":{\"source\":{\"git\":{\"ref\":{\"branch\":\"live\"},\"secretRef\":{\"name\":\"key\"}},` +
				`\"path\":\"public\"},\"access\":{\"basicAuth\":{\"secretRef\":{\"name\":\"key\"}}}}}"}}}`,
			field: carriedUsersField, alpha: true,
		},
		"a label":  {kind: types.MergePatchType, patch: `{"metadata":{"labels":{"a":"b"}}}`},
		"the path": {kind: types.MergePatchType, patch: `{"spec":{"source":{"path":"docs"}}}`},
		"headers": {kind: types.MergePatchType,
			patch: `{"spec":{"serving":{"headers":[{"path":"/","name":"X-A","value":"b"}]}}}`},
		"replicas, in v1alpha1": {kind: types.MergePatchType, patch: `{"spec":{"replicas":2}}`, alpha: true},
		"a finalizer": {kind: types.MergePatchType,
			patch: `{"metadata":{"finalizers":["example.com/held"]}}`},
		"apply without the fields": {kind: types.ApplyPatchType,
			patch: betaManifest("kubia", "polling: {periodSeconds: 30}"), options: force},
	}
	for name, test := range changes {
		var err error
		if test.alpha {
			_, err = alpha.Patch(ctx, "kubia", test.kind, []byte(test.patch), test.options)
		} else {
			_, err = beta.Patch(ctx, "kubia", test.kind, []byte(test.patch), test.options)
		}
		if test.field != "" {
			checkSecretRefused(t, name, test.field, namespace, "key", err)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	current, err := beta.Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stolen := current.DeepCopy()
	// With a resource version, a concurrent status write would cause a conflict.
	stolen.Spec.Source.Git.Repository, stolen.ResourceVersion = "https://evil.example.com/x.git", ""
	_, err = beta.Update(ctx, stolen, metav1.UpdateOptions{})
	checkSecretRefused(t, "update", secretField, namespace, "key", err)
	if _, err := beta.UpdateScale(ctx, "kubia", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: 1},
	}, metav1.UpdateOptions{}); err != nil {
		t.Errorf("scaling it: %v", err)
	}
	if got, err := beta.Get(ctx, "kubia", metav1.GetOptions{}); err != nil ||
		got.Spec.Source.Git.Repository != created.Spec.Source.Git.Repository || got.Spec.Source.Git.SecretRef == nil {
		t.Errorf("after all that: %+v (%v), want repository and Secret as they were", got.Spec.Source, err)
	}

	foreground := metav1.DeletePropagationForeground
	if err := beta.Delete(ctx, "kubia", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	if _, err := beta.Patch(ctx, "kubia", types.JSONPatchType, []byte(`[{"op":"test","path":"/metadata/finalizers/0",`+
		`"value":"example.com/held"},{"op":"remove","path":"/metadata/finalizers/0"}]`), metav1.PatchOptions{}); err != nil {
		t.Errorf("taking the finalizer away: %v", err)
	}
	framework.WaitFor(t, "garbage collection has deleted it", func(ctx context.Context) error {
		_, err := beta.Get(ctx, "kubia", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
	_, err = beta.Create(ctx, newPrivate(namespace, "kubia", "key"), metav1.CreateOptions{})
	checkSecretRefused(t, "creating it again", secretField, namespace, "key", err)
}
