package storage

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistrytest "k8s.io/apiserver/pkg/registry/generic/testing"
	"k8s.io/apiserver/pkg/registry/rest"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// newStorage returns the storage over an etcd of its own, read through
// decorator.
func newStorage(t *testing.T, decorator generic.StorageDecorator) *WebsiteStorage {
	t.Helper()
	return newStorageWithPolicy(t, authorizerfactory.NewAlwaysAllowAuthorizer(), decorator)
}

// newStorageWithPolicy is newStorage with an authorizer of references.
func newStorageWithPolicy(t *testing.T, policy authorizer.UnconditionalAuthorizer,
	decorator generic.StorageDecorator) *WebsiteStorage {
	t.Helper()
	return newStorageWithRules(t, policy, registry.FieldRules{}, decorator)
}

// newStorageWithRules is newStorageWithPolicy with rules about fields.
func newStorageWithRules(t *testing.T, policy authorizer.UnconditionalAuthorizer, rules registry.FieldRules,
	decorator generic.StorageDecorator) *WebsiteStorage {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatal(err)
	}
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	etcd, config := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
	t.Cleanup(func() { etcd.Terminate(t) })
	config.Codec = serializer.NewCodecFactory(scheme).LegacyCodec(v1beta1.SchemeGroupVersion)
	// This is the smallest value that the watch cache accepts.
	config.EventsHistoryWindow = storagebackend.DefaultEventsHistoryWindow
	storage, err := NewStorage(scheme, generic.RESTOptions{
		StorageConfig:           config.ForResource(website.Resource("websites")),
		Decorator:               decorator,
		DeleteCollectionWorkers: 1,
		ResourcePrefix:          website.GroupName + "/websites",
	}, policy, rules)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(storage.Website.Destroy)
	return storage
}

// newWebsite returns a Website as a client creates it, after defaults.
func newWebsite(tweaks ...func(*website.Website)) *website.Website {
	w := &website.Website{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: metav1.NamespaceDefault},
		Spec: v1beta1.WebsiteSpec{
			DeploymentName: "kubia-website",
			Replicas:       ptr.To[int32](2),
			Source: v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: "https://example.com/site.git",
				Submodules: v1beta1.SubmodulesNone, CredentialScope: v1beta1.CredentialScopeRepository}},
			Polling: v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 60, TimeoutSeconds: 120},
			Serving: v1beta1.WebsiteServing{Index: "index.html", NotFoundPath: "/404.html", Charset: "UTF-8",
				Fallback: v1beta1.FallbackNone},
			Service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeClusterIP},
		},
	}
	for _, tweak := range tweaks {
		tweak(w)
	}
	return w
}

// requestContext is the context of a request to a subresource of a Website.
func requestContext(version, subresource string) context.Context {
	ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), metav1.NamespaceDefault)
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		APIGroup: website.GroupName, APIVersion: version, Resource: "websites", Name: "kubia", Subresource: subresource,
	})
}

func mustCreate(t *testing.T, storage *WebsiteStorage, w *website.Website) *website.Website {
	t.Helper()
	created, err := storage.Website.Create(requestContext("v1beta1", ""), w, rest.ValidateAllObjectFunc,
		&metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created.(*website.Website)
}

// TestStore runs the test suite for stores of built-in types.
func TestStore(t *testing.T) {
	tests := map[string]func(*genericregistrytest.Tester){
		"create": func(tester *genericregistrytest.Tester) {
			tester.TestCreate(newWebsite(func(w *website.Website) { w.ObjectMeta = metav1.ObjectMeta{} }),
				newWebsite(func(w *website.Website) { w.Namespace, w.Spec.Source.Git.Repository = "", "" }),
				newWebsite(func(w *website.Website) { w.Namespace, w.Spec.Polling.PeriodSeconds = "", 1 }))
		},
		"update": func(tester *genericregistrytest.Tester) {
			tester.TestUpdate(newWebsite(),
				func(obj runtime.Object) runtime.Object {
					w := obj.(*website.Website)
					w.Spec.Polling.PeriodSeconds = 300
					return w
				},
				func(obj runtime.Object) runtime.Object {
					w := obj.(*website.Website)
					w.Spec.DeploymentName = "other"
					return w
				},
				func(obj runtime.Object) runtime.Object {
					w := obj.(*website.Website)
					w.Spec.Replicas = ptr.To[int32](-1)
					return w
				})
		},
		"delete": func(tester *genericregistrytest.Tester) { tester.TestDelete(newWebsite()) },
		"get":    func(tester *genericregistrytest.Tester) { tester.TestGet(newWebsite()) },
		"list":   func(tester *genericregistrytest.Tester) { tester.TestList(newWebsite()) },
		"watch": func(tester *genericregistrytest.Tester) {
			tester.TestWatch(newWebsite(func(w *website.Website) { w.Labels = map[string]string{"team": "blue"} }),
				[]labels.Set{{"team": "blue"}},
				[]labels.Set{{"team": "red"}},
				[]fields.Set{{"metadata.name": "kubia"}, {"spec.deploymentName": "kubia-website"},
					{"spec.source.git.repository": "https://example.com/site.git"}},
				[]fields.Set{{"metadata.name": "other"}, {"spec.deploymentName": "other"}},
			)
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test(genericregistrytest.New(t, newStorage(t, generic.UndecoratedStorage).Website.Store))
		})
	}
}

func TestNames(t *testing.T) {
	r := &REST{}
	if got := r.ShortNames(); !slices.Equal(got, []string{"ws"}) {
		t.Errorf("short names = %v, want ws", got)
	}
	// In the category "all", an outage of this server would make every "kubectl get all" fail.
	if _, has := any(r).(rest.CategoriesProvider); has {
		t.Error("websites have a category")
	}
}
