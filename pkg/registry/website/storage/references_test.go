package storage

import (
	"context"
	"slices"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	rich, poor = "rich", "poor"
	refused    = `spec.source.git.secretRef: Forbidden: requires get on secrets "key" in namespace "default": ask for a ` +
		`role that grants it`
)

// policy allows users to get Secrets, by "user/secret", and records the checks.
type policy struct {
	allowed []string
	err     error
	checked []authorizer.AttributesRecord
}

func (p *policy) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	p.checked = append(p.checked, a.(authorizer.AttributesRecord))
	if p.err != nil {
		return authorizer.DecisionNoOpinion, "", p.err
	}
	if slices.Contains(p.allowed, a.GetUser().GetName()+"/"+a.GetName()) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func as(ctx context.Context, name string) context.Context {
	return genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: name})
}

func withSecret(name string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Source.Git.SecretRef = &v1beta1.SecretReference{Name: name} }
}

func withUsers(w *website.Website) {
	w.Spec.Access = usersOf("key")
}

func withUsersOfPreviews(w *website.Website) {
	w.Spec.Previews = &v1beta1.WebsitePreviews{Branches: []string{"*"}, MaxCount: 1, Domain: "previews.example.com",
		Access: usersOf("key")}
}

// certified verifies the server of the repository with a CA that every user may get.
func certified(w *website.Website) {
	w.Spec.Source.Git.CARef = &v1beta1.CAReference{ConfigMapName: "ca", Key: "ca.crt"}
}

// changed is an update in which admission or a client changes the stored Website.
func changed(tweaks ...func(*website.Website)) rest.UpdatedObjectInfo {
	return rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		w := old.DeepCopyObject().(*website.Website)
		for _, tweak := range tweaks {
			tweak(w)
		}
		return w, nil
	})
}

func deleteAll(t *testing.T, storage *WebsiteStorage) {
	t.Helper()
	if _, err := storage.Website.DeleteCollection(requestContext("v1beta1", ""), rest.ValidateAllObjectFunc,
		&metav1.DeleteOptions{}, nil); err != nil {
		t.Errorf("deleting Websites: %v", err)
	}
}

// checkRefused compares the error of a request, where want is part of it; empty for
// none.
func checkRefused(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want)):
		t.Errorf("error = %v, want it invalid with %s", err, want)
	}
}

func TestReferencesOfNewWebsites(t *testing.T) {
	carried := "metadata.annotations[" + website.AnnotationCarriedFields + "]." + refused
	tests := map[string]struct {
		user, version string
		tweak         func(*website.Website)
		want          string
	}{
		"no reference":              {user: poor, version: "v1beta1", tweak: func(*website.Website) {}},
		"a reference":               {user: poor, version: "v1beta1", tweak: withSecret("key"), want: refused},
		"one that the user may get": {user: rich, version: "v1beta1", tweak: withSecret("key")},
		"another one": {user: rich, version: "v1beta1", tweak: withSecret("other"),
			want: strings.Replace(refused, "key", "other", 1)},
		"carried by v1alpha1": {user: poor, version: "v1alpha1", tweak: withSecret("key"), want: carried},
		"with a generated name": {user: poor, version: "v1beta1", want: refused, tweak: func(w *website.Website) {
			w.Name, w.GenerateName = "", "kubia-"
			withSecret("key")(w)
		}},
	}
	for field, users := range map[string]func(*website.Website){"spec.access.basicAuth.secretRef": withUsers,
		"spec.previews.access.basicAuth.secretRef": withUsersOfPreviews} {
		refused := strings.Replace(refused, "spec.source.git.secretRef", field, 1)
		for what, test := range map[string]struct {
			user, version string
			tweak         func(*website.Website)
			want          string
		}{
			"":                   {user: poor, version: "v1beta1", tweak: users, want: refused},
			", that may be read": {user: rich, version: "v1beta1", tweak: users},
			", carried": {user: poor, version: "v1alpha1", tweak: users,
				want: "metadata.annotations[" + website.AnnotationCarriedFields + "]." + refused},
			", carried, may read": {user: rich, version: "v1alpha1", tweak: users},
		} {
			tests[field+what] = test
		}
	}
	storage := newStorageWithPolicy(t, &policy{allowed: []string{"rich/key", "rich/"}}, generic.UndecoratedStorage)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { deleteAll(t, storage) })
			ctx := as(requestContext(test.version, ""), test.user)
			admitted := 0
			admit := func(context.Context, runtime.Object) error { admitted++; return nil }
			for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
				_, err := storage.Website.Create(ctx, newWebsite(test.tweak), admit, &metav1.CreateOptions{DryRun: dryRun})
				checkRefused(t, err, test.want)
			}
			// Quota would count a rejected request and lose the count.
			if want := map[bool]int{true: 2}[test.want == ""]; admitted != want {
				t.Errorf("admission has seen %d requests, want %d", admitted, want)
			}
			obj, created, err := storage.Website.Update(ctx, "applied", changed(func(w *website.Website) {
				*w = *newWebsite(test.tweak)
				w.Name, w.GenerateName, w.Spec.DeploymentName = "applied", "", "applied"
			}), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{})
			checkRefused(t, err, test.want)
			if created != (test.want == "") {
				t.Errorf("server-side apply has created %v: %t", obj, created)
			}
		})
	}
}

func TestReferencesOfChangedWebsites(t *testing.T) {
	repository := func(r string) func(*website.Website) {
		return func(w *website.Website) { w.Spec.Source.Git.Repository = r }
	}
	at := func(r *v1beta1.GitReference) func(*website.Website) {
		return func(w *website.Website) { w.Spec.Source.Git.Ref = r }
	}
	tests := map[string]struct {
		tweak func(*website.Website)
		want  string
	}{
		"nothing": {tweak: func(*website.Website) {}},
		"a label": {tweak: func(w *website.Website) { w.Labels = map[string]string{"a": "b"} }},
		"owner references": {tweak: func(w *website.Website) {
			w.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "1"}}
		}},
		"the path": {tweak: func(w *website.Website) { w.Spec.Source.Path = "docs" }},
		"headers": {tweak: func(w *website.Website) {
			w.Spec.Serving.Headers = []v1beta1.ResponseHeader{{Path: "/", Name: "X-A", Value: "b"}}
		}},
		"replicas":             {tweak: func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](7) }},
		"reference removed":    {tweak: func(w *website.Website) { w.Spec.Source.Git.SecretRef = nil }},
		"the same, written so": {tweak: withSecret("key")},
		"another reference":    {tweak: withSecret("other"), want: strings.Replace(refused, "key", "other", 1)},
		"another repository":   {tweak: repository("https://evil.example.com/site.git"), want: refused},
		"another path on it":   {tweak: repository("https://example.com/other.git"), want: refused},
		"another branch":       {tweak: at(&v1beta1.GitReference{Branch: "evil"}), want: refused},
		"a commit":             {tweak: at(&v1beta1.GitReference{Commit: strings.Repeat("a", 40)}), want: refused},
		"no branch":            {tweak: at(nil), want: refused},
		"a pin": {tweak: func(w *website.Website) {
			w.Spec.Pin = &v1beta1.WebsitePin{Commit: strings.Repeat("a", 40)}
		}, want: refused},
		"submodules": {tweak: func(w *website.Website) {
			w.Spec.Source.Git.Submodules = v1beta1.SubmodulesRecursive
		}, want: refused},
		"users": {tweak: withUsers,
			want: strings.Replace(refused, "spec.source.git.secretRef", "spec.access.basicAuth.secretRef", 1)},
		"users of previews": {tweak: withUsersOfPreviews,
			want: strings.Replace(refused, "spec.source.git.secretRef", "spec.previews.access.basicAuth.secretRef", 1)},
		"a CA": {tweak: certified, want: refused},
		"scope": {tweak: func(w *website.Website) {
			w.Spec.Source.Git.CredentialScope = v1beta1.CredentialScopeHost
		}, want: refused},
	}
	p := &policy{allowed: []string{"rich/key", "rich/", "rich/ca", "poor/", "poor/ca"}}
	storage := newStorageWithPolicy(t, p, generic.UndecoratedStorage)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { deleteAll(t, storage) })
			w := newWebsite(withSecret("key"), at(&v1beta1.GitReference{Branch: "main"}))
			if _, err := storage.Website.Create(as(requestContext("v1beta1", ""), rich), w, nil,
				&metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			p.checked = nil
			for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
				_, _, err := storage.Website.Update(as(requestContext("v1beta1", ""), poor), "kubia", changed(test.tweak), nil, nil,
					false, &metav1.UpdateOptions{DryRun: dryRun})
				checkRefused(t, err, test.want)
			}
			if test.want == "" && len(p.checked) > 0 {
				t.Errorf("the authorizer has checked %+v, want nothing", p.checked)
			}
			if _, _, err := storage.Website.Update(as(requestContext("v1beta1", ""), rich), "kubia", changed(test.tweak), nil,
				nil, false, &metav1.UpdateOptions{}); err != nil && !strings.Contains(test.want, "other") {
				t.Errorf("refused although the user may get the Secret: %v", err)
			}
		})
	}
}

// TestReferenceOfDeletedWebsite: permissions for a deleted Website do not apply
// to the next one of that name.
func TestReferenceOfDeletedWebsite(t *testing.T) {
	storage := newStorageWithPolicy(t, &policy{allowed: []string{"rich/key"}}, generic.UndecoratedStorage)
	if _, err := storage.Website.Create(as(requestContext("v1beta1", ""), rich), newWebsite(withSecret("key")), nil,
		&metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx := as(requestContext("v1beta1", ""), poor)
	if _, _, err := storage.Website.Delete(ctx, "kubia", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := storage.Website.Create(ctx, newWebsite(withSecret("key")), nil, &metav1.CreateOptions{})
	checkRefused(t, err, refused)
}

// TestReferenceOfFinalizedWebsite: removing a finalizer requires no get on the Secret,
// nor does writing an unchanged Website to migrate its storage.
func TestReferenceOfFinalizedWebsite(t *testing.T) {
	storage := newStorageWithPolicy(t, &policy{allowed: []string{"rich/key"}}, generic.UndecoratedStorage)
	held := func(w *website.Website) { w.Finalizers = []string{"example.com/x"} }
	if _, err := storage.Website.Create(as(requestContext("v1beta1", ""), rich), newWebsite(withSecret("key"), held), nil,
		&metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx := as(requestContext("v1beta1", ""), poor)
	if _, _, err := storage.Website.Update(ctx, "kubia", changed(), nil, nil, false, &metav1.UpdateOptions{}); err != nil {
		t.Errorf("writing it as it is: %v", err)
	}
	if _, _, err := storage.Website.Delete(ctx, "kubia", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	released := func(w *website.Website) { w.Finalizers = nil }
	if _, _, err := storage.Website.Update(ctx, "kubia", changed(released), nil, nil, false,
		&metav1.UpdateOptions{}); err != nil {
		t.Errorf("removing the finalizer: %v", err)
	}
	if _, err := storage.Website.Get(ctx, "kubia", &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after that it is still there: %v", err)
	}
}

// TestReferenceIsComparedWithWhatIsStored: the copy that the client has read may be older.
func TestReferenceIsComparedWithWhatIsStored(t *testing.T) {
	storage := newStorageWithPolicy(t, &policy{allowed: []string{"rich/key"}}, generic.UndecoratedStorage)
	richly, poorly := as(requestContext("v1beta1", ""), rich), as(requestContext("v1beta1", ""), poor)
	obj, err := storage.Website.Create(richly, newWebsite(withSecret("key")), nil, &metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	read := obj.(*website.Website).DeepCopy()
	removed := func(w *website.Website) { w.Spec.Source.Git.SecretRef = nil }
	if _, _, err := storage.Website.Update(richly, "kubia", changed(removed), nil, nil, false,
		&metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	read.ResourceVersion = ""
	_, _, err = storage.Website.Update(poorly, "kubia", rest.DefaultUpdatedObjectInfo(read), nil, nil, false,
		&metav1.UpdateOptions{})
	checkRefused(t, err, refused)
}

// TestSubresourcesCannotRefer: their writes are not checked, since they cannot
// change references.
func TestSubresourcesCannotRefer(t *testing.T) {
	p := &policy{allowed: []string{"rich/key"}}
	storage := newStorageWithPolicy(t, p, generic.UndecoratedStorage)
	mustCreate(t, storage, newWebsite())
	hostile := changed(withSecret("key"), func(w *website.Website) {
		w.Status.ReadyReplicas = 1
		w.Annotations = map[string]string{
			website.AnnotationCarriedFields: `{"spec":{"source":{"git":{"secretRef":{"name":"key"}}}}}`,
		}
	})
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		if _, _, err := storage.Status.Update(as(requestContext(version, "status"), poor), "kubia", hostile,
			rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if w := get(t, storage); w.Spec.Source.Git.SecretRef != nil || len(w.Annotations) > 0 || w.Status.ReadyReplicas != 1 {
			t.Errorf("after a status update in %s: %+v", version, w)
		}
	}
	if _, _, err := storage.Website.Update(as(requestContext("v1beta1", ""), rich), "kubia", changed(withSecret("key")),
		nil, nil, false, &metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.checked = nil
	scale := changing(func(s *autoscalingv1.Scale) { s.Spec.Replicas = 5 })
	if _, _, err := storage.Scale.Update(as(requestContext("v1beta1", "scale"), poor), "kubia", scale,
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if w := get(t, storage); *w.Spec.Replicas != 5 || len(p.checked) != 0 {
		t.Errorf("after scaling: %d replicas, checked %+v", *w.Spec.Replicas, p.checked)
	}
}

// usersOf admits the users in a Secret.
func usersOf(secret string) v1beta1.WebsiteAccess {
	return v1beta1.WebsiteAccess{BasicAuth: &v1beta1.BasicAuth{SecretRef: v1beta1.SecretReference{Name: secret}}}
}
