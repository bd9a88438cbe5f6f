package storage

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

const previewer = "previewer"

// grants are permissions of users: "user verb resource/name".
type grants map[string]bool

func (g grants) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if g[a.GetUser().GetName()+" "+a.GetVerb()+" "+a.GetResource()+"/"+a.GetName()] {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// withPreviews sets all fields that require a permission, and previews.
func withPreviews(w *website.Website) {
	withSecret("key")(w)
	w.Spec.Source.Git.CARef = &v1beta1.CAReference{SecretName: "ca", Key: "ca.crt"}
	w.Spec.Scheduling.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	w.Spec.Hosts = hostsOf("shop.example.com")
	w.Spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeSecret, SecretRef: &v1beta1.SecretReference{Name: "cert"},
		Redirect: new(true)}
	w.Spec.Previews = &v1beta1.WebsitePreviews{Branches: []string{"feature-*"}, MaxCount: 5,
		Domain: "previews.example.com", Access: usersOf("users")}
}

// previewOf returns the preview that website-controller writes for the branch feature-a.
func previewOf(parent *website.Website) *website.Website {
	return newWebsite(func(w *website.Website) {
		w.Spec = *parent.Spec.DeepCopy()
		w.Name, w.Spec.DeploymentName = "kubia-feature-a", "kubia-feature-a"
		w.Spec.Source.Git.Ref, w.Spec.Replicas = &v1beta1.GitReference{Branch: "feature-a"}, ptr.To[int32](1)
		w.Spec.Previews, w.Spec.Hosts = nil, hostsOf("feature-a.kubia.previews.example.com")
		w.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "Website", Name: parent.Name, UID: parent.UID,
			Controller: ptr.To(true),
		}}
	})
}

const (
	refusedHost = `spec.hosts[0].name: Forbidden: requires use on websitehosts "feature-a.kubia.previews.example.com"`
	refusedCert = `spec.tls.secretRef: Forbidden: requires get on secrets "cert"`
)

func TestPermissionsOfPreviews(t *testing.T) {
	type tweak = func(*website.Website)
	same := func(*website.Website) {}
	repository := func(w *website.Website) { w.Spec.Source.Git.Repository = "https://evil.example.com/site.git" }
	for name, test := range map[string]struct {
		user            string
		parent, preview tweak
		want            string
	}{
		"by the controller":     {previewer, same, same, ""},
		"by a user":             {poor, same, same, refused},
		"of another repository": {previewer, same, repository, refused},
		"with submodules": {previewer, same,
			func(w *website.Website) { w.Spec.Source.Git.Submodules = v1beta1.SubmodulesShallow }, refused},
		"with the submodules of its Website": {previewer,
			func(w *website.Website) { w.Spec.Source.Git.Submodules = v1beta1.SubmodulesShallow }, same, ""},
		"of another scope": {previewer, same, func(w *website.Website) {
			w.Spec.Source.Git.Submodules, w.Spec.Source.Git.CredentialScope = v1beta1.SubmodulesShallow,
				v1beta1.CredentialScopeHost
		}, refused},
		"with another Secret": {previewer, same, withSecret("other"), `requires get on secrets "other"`},
		"with another CA": {previewer, same, func(w *website.Website) {
			w.Spec.Source.Git.CARef.Key = "other"
		}, `spec.source.git.caRef: Forbidden: requires get on secrets "ca"`},
		"with another certificate": {previewer, same,
			func(w *website.Website) { w.Spec.TLS.SecretRef.Name = "other" }, `requires get on secrets "other"`},
		"with a load balancer": {previewer, same,
			func(w *website.Website) { w.Spec.Service.Type = v1beta1.ServiceTypeLoadBalancer }, "spec.service.type: Forbidden"},
		"with another toleration": {previewer, same, func(w *website.Website) {
			w.Spec.Scheduling.Tolerations[0].Key = "other"
		}, "spec.scheduling.tolerations: Forbidden"},
		"of a tag": {previewer, same,
			func(w *website.Website) { w.Spec.Source.Git.Ref = &v1beta1.GitReference{Tag: "feature-a"} }, refused},
		"of another branch": {previewer, same,
			func(w *website.Website) { w.Spec.Source.Git.Ref.Branch = "feature-b" }, refused},
		"of a branch that does not match": {previewer,
			func(w *website.Website) { w.Spec.Previews.Branches = []string{"next"} }, same, refused},
		"with another name": {previewer, same,
			func(w *website.Website) { w.Name = "kubia-other" }, refused},
		"with the host of another branch": {previewer, same, func(w *website.Website) {
			w.Spec.Hosts[0].Name = "b.kubia.previews.example.com"
		}, `use on websitehosts "b.kubia.previews.example.com"`},
		"with the host of another Website": {previewer, same, func(w *website.Website) {
			w.Spec.Hosts[0].Name = "feature-a.other.previews.example.com"
		}, `use on websitehosts "feature-a.other.previews.example.com"`},
		"in another domain": {previewer,
			func(w *website.Website) { w.Spec.Previews.Domain = "other.example.com" }, same, refusedHost},
		"in another domain, for the certificate": {previewer,
			func(w *website.Website) { w.Spec.Previews.Domain = "other.example.com" }, same, refusedCert},
		"in the domain of the flag, unpermitted": {previewer, func(w *website.Website) { w.Spec.Previews.Domain = "" }, same,
			`spec.hosts[0].name: Forbidden: requires use on websitehosts "*.previews.example.com"`},
		"in the domain of the flag, permitted": {"granted",
			func(w *website.Website) { w.Spec.Previews.Domain = "" }, same, ""},
		"of a Website without previews": {previewer,
			func(w *website.Website) { w.Spec.Previews = nil }, same, refused},
		"of a Website that is being deleted": {previewer,
			func(w *website.Website) { w.Finalizers = []string{"example.com/keep"} }, same, refused},
		"of an earlier Website": {previewer, same,
			func(w *website.Website) { w.OwnerReferences[0].UID = "earlier" }, refused},
		"of no such Website": {previewer, same,
			func(w *website.Website) { w.OwnerReferences[0].Name = "nothing" }, refused},
		"not controlled": {previewer, same,
			func(w *website.Website) { w.OwnerReferences[0].Controller = nil }, refused},
		"controlled by something else": {previewer, same,
			func(w *website.Website) { w.OwnerReferences[0].Kind = "Shop" }, refused},
	} {
		t.Run(name, func(t *testing.T) {
			policy := grants{
				"owner create websites/": true, "owner get secrets/key": true, "owner get secrets/ca": true,
				"owner get secrets/cert": true, "owner get secrets/users": true,
				"owner schedule websites/kubia": true, "owner use websitehosts/shop.example.com": true,
				"owner use websitehosts/*.kubia.previews.example.com": true,
				"owner use websitehosts/*.kubia.other.example.com":    true,
				"previewer preview websites/kubia":                    true, "granted preview websites/kubia": true,
				"granted use websitehosts/*.previews.example.com": true,
			}
			storage := newStorageWithRules(t, policy, registry.FieldRules{HostAuthorization: registry.HostAuthorizationEnforce},
				generic.UndecoratedStorage)
			ctx := requestContext("v1beta1", "")
			parent := newWebsite(withPreviews, test.parent)
			created, err := storage.Website.Create(as(ctx, "owner"), parent, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			parent = created.(*website.Website)
			if len(parent.Finalizers) > 0 {
				if _, _, err := storage.Website.Delete(ctx, parent.Name, rest.ValidateAllObjectFunc,
					&metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			preview := previewOf(parent)
			test.preview(preview)
			if _, err = storage.Website.Create(as(ctx, test.user), preview.DeepCopy(), nil,
				&metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); test.want == "" && err != nil {
				t.Errorf("dry run: %v", err)
			}
			_, err = storage.Website.Create(as(ctx, test.user), preview, nil, &metav1.CreateOptions{})
			checkRefused(t, err, test.want)
		})
	}
}

// TestChangesOfPreviews: the controller passes changes of the Website on, and users of the
// preview gain no permission by it.
func TestChangesOfPreviews(t *testing.T) {
	policy := grants{
		"owner create websites/": true, "owner get secrets/key": true, "owner get secrets/ca": true,
		"owner get secrets/cert": true, "owner get secrets/users": true,
		"owner schedule websites/kubia": true, "owner get secrets/other": true, "previewer preview websites/kubia": true,
	}
	storage := newStorageWithPolicy(t, policy, generic.UndecoratedStorage)
	ctx := requestContext("v1beta1", "")
	update := func(user, name string, tweak func(*website.Website)) error {
		_, _, err := storage.Website.Update(as(ctx, user), name, changed(tweak), nil, nil, false, &metav1.UpdateOptions{})
		return err
	}
	created, err := storage.Website.Create(as(ctx, "owner"), newWebsite(withPreviews), rest.ValidateAllObjectFunc,
		&metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Website.Create(as(ctx, previewer), previewOf(created.(*website.Website)), nil,
		&metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const preview = "kubia-feature-a"
	other := withSecret("other")
	checkRefused(t, update(previewer, preview, other), `requires get on secrets "other"`)
	checkRefused(t, update("owner", "kubia", other), "")
	checkRefused(t, update(previewer, preview, other), "")
	// Unchanged fields require no permission, as in every Website.
	checkRefused(t, update(poor, preview, func(w *website.Website) { w.Spec.Pin = nil }), "")
	checkRefused(
		t, update(poor, preview, func(w *website.Website) { w.Spec.Source.Git.Repository = "https://evil.example.com/a" }),
		`requires get on secrets "other"`,
	)
	checkRefused(t, update(poor, "kubia", func(w *website.Website) { w.Spec.Previews.Branches = []string{"*"} }),
		"spec.previews: Forbidden: requires create on websites in namespace")
	checkRefused(t, update(poor, "kubia", func(w *website.Website) { w.Spec.Previews.Branches = []string{"*"} }),
		`spec.source.git.secretRef: Forbidden: requires get on secrets "other"`)
	checkRefused(t, update(poor, "kubia", func(w *website.Website) { w.Spec.Previews = nil }), "")
	again := func(w *website.Website) {
		w.Spec.Previews = &v1beta1.WebsitePreviews{Branches: []string{"*"}, MaxCount: 5}
	}
	checkRefused(t, update(poor, "kubia", again), `spec.source.git.secretRef: Forbidden: requires get on secrets "other"`)
	checkRefused(t, update(poor, preview, func(w *website.Website) { w.OwnerReferences[0].UID = types.UID("other") }),
		`metadata.ownerReferences[0]: Forbidden: requires preview on websites "kubia"`)
	checkRefused(t, update(poor, preview, func(w *website.Website) { w.OwnerReferences = nil }), "")
	checkRefused(t, update(poor, preview, func(w *website.Website) { w.Labels = nil }), "")
	checkRefused(t, update(previewer, preview, withSecret("key")), `requires get on secrets "key"`)
}
