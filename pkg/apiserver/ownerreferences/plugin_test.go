package ownerreferences

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// grants are the permissions of the user: "verb resource/subresource namespace/name".
type grants map[string]bool

func (g grants) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if g[a.GetVerb()+" "+a.GetResource()+"/"+a.GetSubresource()+" "+a.GetNamespace()+"/"+a.GetName()] {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func TestValidate(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.AddSpecific(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		schema.GroupVersionResource{Version: "v1", Resource: "configmap"}, meta.RESTScopeNamespace)
	mapper.AddSpecific(schema.GroupVersionKind{Version: "v1", Kind: "Node"},
		schema.GroupVersionResource{Version: "v1", Resource: "nodes"},
		schema.GroupVersionResource{Version: "v1", Resource: "node"}, meta.RESTScopeRoot)
	owner := func(kind string, block bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: "owner", UID: "1", BlockOwnerDeletion: ptr.To(block)}
	}
	owned := func(owners ...metav1.OwnerReference) *website.Website {
		return &website.Website{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubia", OwnerReferences: owners}}
	}
	const mayDelete, mayBlock = "delete websites/ default/kubia", "update configmaps/finalizers default/owner"
	for name, test := range map[string]struct {
		old, updated *website.Website
		subresource  string
		granted      []string
		want         string
	}{
		"nothing changes": {old: owned(owner("ConfigMap", true)),
			updated: owned(owner("ConfigMap", true))},
		"no owner":     {updated: owned()},
		"a new object": {updated: owned(owner("ConfigMap", false))},
		"a new object that blocks": {updated: owned(owner("ConfigMap", true)),
			want: `requires update on configmaps/finalizers "owner"`},
		"a new object that may block": {updated: owned(owner("ConfigMap", true)), granted: []string{mayBlock}},
		"an owner is added": {old: owned(), updated: owned(owner("ConfigMap", false)),
			want: `requires delete on websites "kubia"`},
		"a user with delete adds an owner": {old: owned(), updated: owned(owner("ConfigMap", false)),
			granted: []string{mayDelete}},
		"an owner is removed": {old: owned(owner("ConfigMap", false)), updated: owned(),
			want: `requires delete on websites "kubia"`},
		"by a subresource": {old: owned(), updated: owned(owner("ConfigMap", false)), subresource: "sync",
			granted: []string{mayDelete}, want: `requires delete on websites/sync "kubia"`},
		"an owner begins to block": {
			old: owned(owner("ConfigMap", false)), updated: owned(owner("ConfigMap", true)), granted: []string{mayDelete},
			want: `cannot set blockOwnerDeletion for ConfigMap "owner"`,
		},
		"an owner blocks no longer": {old: owned(owner("ConfigMap", true)),
			updated: owned(owner("ConfigMap", false)), granted: []string{mayDelete}},
		"an owner without a namespace": {updated: owned(owner("Node", true)),
			granted: []string{"update nodes/finalizers /owner"}},
		"an owner of a kind that is unknown": {updated: owned(owner("Shop", true)), want: "finding the resource of Shop"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
			granted := grants{}
			for _, grant := range test.granted {
				granted[grant] = true
			}
			p.SetUnconditionalAuthorizer(granted)
			p.SetRESTMapper(mapper)
			operation, old := admission.Create, runtime.Object(nil)
			if test.old != nil {
				operation, old = admission.Update, test.old
			}
			a := admission.NewAttributesRecord(test.updated, old, v1beta1.SchemeGroupVersion.WithKind("Website"),
				"default", "kubia",
				v1beta1.SchemeGroupVersion.WithResource("websites"), test.subresource, operation, nil, false,
				&user.DefaultInfo{Name: "jane"})
			err := p.Validate(t.Context(), a, nil)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

// TestRegister: the plugin does not run without an authorizer.
func TestRegister(t *testing.T) {
	plugins := admission.NewPlugins()
	Register(plugins)
	if _, err := plugins.InitPlugin(PluginName, nil, admission.PluginInitializers{}); err == nil ||
		!strings.Contains(err.Error(), "needs an authorizer") {
		t.Errorf("initialized without an authorizer: %v", err)
	}
}
