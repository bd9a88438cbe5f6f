package children

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	websiteclient "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

const childName = "kubia-website-nginx"

func newWebsite(name string) *v1beta1.Website {
	return &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name)},
		Spec:       v1beta1.WebsiteSpec{DeploymentName: "kubia-website"},
	}
}

// fixture is the kind of ConfigMaps over a fake API server.
type fixture struct {
	t *testing.T
	*Kind[*corev1.ConfigMap, *cached.ConfigMap, *corev1ac.ConfigMapApplyConfiguration]
	// store is the store of the informer, which a test fills.
	store cache.Store
	// cachedWebsites and websites are the Websites in the cache and on the API server.
	cachedWebsites cache.Indexer
	websites       map[string]*v1beta1.Website

	stored  *corev1.ConfigMap
	version int
	// applied maps resource versions to the applied configurations.
	applied map[string]*corev1ac.ConfigMapApplyConfiguration
	calls   []string
	// meanwhile is called once, before the next write takes effect.
	meanwhile func()
	err       error
	// answerLost is the error of the next write, which takes effect nevertheless.
	answerLost error
}

func newFixture(t *testing.T, websites ...*v1beta1.Website) *fixture {
	f := &fixture{
		t: t, store: cache.NewStore(cache.MetaNamespaceKeyFunc), version: 10, websites: map[string]*v1beta1.Website{},
		cachedWebsites: cache.NewIndexer(cache.MetaNamespaceKeyFunc,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		applied: map[string]*corev1ac.ConfigMapApplyConfiguration{},
	}
	for _, website := range websites {
		f.websites[website.Name] = website
		if err := f.cachedWebsites.Add(website); err != nil {
			t.Fatal(err)
		}
	}
	owners := Owners{Cached: websitelisters.NewWebsiteLister(f.cachedWebsites), Live: websitesGetter{f}}
	f.Kind = newKind("ConfigMap", owners, f.store, func(string) configMaps { return configMaps{f} },
		cached.ConfigMaps, f.trimmed)
	return f
}

// trimmed returns the cached form of a ConfigMap, with the digest of the applied fields.
func (f *fixture) trimmed(child *corev1.ConfigMap) *cached.ConfigMap {
	trimmed := cached.OfConfigMap(child)
	if applied := f.applied[child.ResourceVersion]; applied != nil && cached.WasApplied(child) {
		digest, err := cached.ConfigMaps.Digest(applied)
		if err != nil {
			f.t.Fatal(err)
		}
		trimmed.Applied = digest
	}
	return trimmed
}

// syncStore updates the store of the informer.
func (f *fixture) syncStore() {
	f.t.Helper()
	var visible []any
	if f.stored != nil {
		visible = append(visible, f.trimmed(f.stored))
	}
	if err := f.store.Replace(visible, ""); err != nil {
		f.t.Fatal(err)
	}
}

// put writes an object as another client.
func (f *fixture) put(child *corev1.ConfigMap) {
	f.version++
	f.applied[strconv.Itoa(f.version)] = f.applied[child.ResourceVersion]
	child.ResourceVersion = strconv.Itoa(f.version)
	f.stored = child
}

// edit changes the stored object, in a field that the controller has applied, as another client.
func (f *fixture) edit(change func(*corev1.ConfigMap)) {
	child := f.stored.DeepCopy()
	change(child)
	f.put(child)
}

func (f *fixture) called() []string {
	calls := f.calls
	f.calls = nil
	return calls
}

// websitesGetter reads Websites.
type websitesGetter struct{ f *fixture }

func (g websitesGetter) Websites(string) websiteclient.WebsiteInterface {
	return websiteReader{f: g.f}
}

type websiteReader struct {
	websiteclient.WebsiteInterface
	f *fixture
}

func (r websiteReader) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1beta1.Website, error) {
	if website := r.f.websites[name]; website != nil {
		return website, nil
	}
	return nil, apierrors.NewNotFound(v1beta1.Resource("websites"), name)
}

// configMaps is the typed client.
type configMaps struct{ f *fixture }

func (c configMaps) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.ConfigMap, error) {
	f := c.f
	f.calls = append(f.calls, "get")
	if f.err != nil {
		return nil, f.err
	}
	if f.stored == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), name)
	}
	return f.stored.DeepCopy(), nil
}

func (f *fixture) interrupt() {
	if meanwhile := f.meanwhile; meanwhile != nil {
		f.meanwhile = nil
		meanwhile()
	}
}

func (c configMaps) Apply(_ context.Context, desired *corev1ac.ConfigMapApplyConfiguration,
	options metav1.ApplyOptions) (*corev1.ConfigMap, error) {
	f := c.f
	f.interrupt()
	uid, version := ptr.Deref(desired.UID, ""), ptr.Deref(desired.ResourceVersion, "")
	f.calls = append(f.calls, fmt.Sprintf("apply uid=%q resourceVersion=%q force=%t manager=%s", uid, version,
		options.Force, options.FieldManager))
	switch {
	case f.err != nil:
		return nil, f.err
	case f.stored == nil && uid != "", f.stored != nil && version != "":
		return nil, apierrors.NewConflict(corev1.Resource("configmaps"), childName, errors.New("it has changed"))
	case f.stored != nil && f.stored.UID != uid:
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), childName,
			field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	}
	data, err := json.Marshal(desired)
	if err != nil {
		return nil, err
	}
	child := &corev1.ConfigMap{}
	if err := json.Unmarshal(data, child); err != nil {
		return nil, err
	}
	child.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: options.FieldManager, Operation: metav1.ManagedFieldsOperationApply},
	}
	f.version++
	child.ResourceVersion = strconv.Itoa(f.version)
	if f.stored == nil {
		child.UID = types.UID("created-at-" + child.ResourceVersion)
	}
	desired.UID, desired.ResourceVersion = nil, nil
	f.stored, f.applied[child.ResourceVersion] = child, desired
	if err := f.answerLost; err != nil {
		f.answerLost = nil
		return nil, err
	}
	return child.DeepCopy(), nil
}

func (c configMaps) Delete(_ context.Context, _ string, options metav1.DeleteOptions) error {
	f := c.f
	f.calls = append(f.calls, fmt.Sprintf("delete uid=%q resourceVersion=%q", *options.Preconditions.UID,
		*options.Preconditions.ResourceVersion))
	if f.err == nil {
		f.stored = nil
	}
	return f.err
}

// wanted returns a ConfigMap for a Website.
func wanted(website *v1beta1.Website, content string) *corev1ac.ConfigMapApplyConfiguration {
	return resources.ConfigMap(website, content).WithName(childName)
}
