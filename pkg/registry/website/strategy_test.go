package website

import (
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func newStrategy(t *testing.T) Strategy {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatal(err)
	}
	return NewStrategy(scheme)
}

// newWebsite returns a stored Website, changed by tweaks.
func newWebsite(tweaks ...func(*website.Website)) *website.Website {
	w := &website.Website{
		ObjectMeta: metav1.ObjectMeta{
			Name: "kubia", Namespace: "default", UID: "1", ResourceVersion: "7", Generation: 4,
			Labels: map[string]string{"team": "blue"},
		},
		Spec: v1beta1.WebsiteSpec{
			Source: v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: "https://example.com/site.git",
				Submodules: v1beta1.SubmodulesNone, CredentialScope: v1beta1.CredentialScopeRepository}},
			DeploymentName: "kubia-website",
			Replicas:       ptr.To[int32](2),
			Polling:        v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 60, TimeoutSeconds: 120},
			Serving: v1beta1.WebsiteServing{Index: "index.html", NotFoundPath: "/404.html", Charset: "UTF-8",
				Fallback: v1beta1.FallbackNone},
			Service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort},
		},
		Status: v1beta1.WebsiteStatus{AvailableReplicas: 2},
	}
	for _, tweak := range tweaks {
		tweak(w)
	}
	return w
}

func TestCreateDropsStatusAndStartsGenerations(t *testing.T) {
	created := metav1.Unix(1000, 0)
	w := newWebsite(conditionReady, func(w *website.Website) { w.ResourceVersion, w.CreationTimestamp = "", created })
	ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), w.Namespace)
	if err := rest.BeforeCreate(newStrategy(t), ctx, w); err != nil {
		t.Fatal(err)
	}
	want := v1beta1.WebsiteStatus{Conditions: []metav1.Condition{{
		Type: "Ready", Status: "Unknown", Reason: "Pending", Message: "website-controller has not reported yet",
		LastTransitionTime: created,
	}}}
	if !apiequality.Semantic.DeepEqual(w.Status, want) {
		t.Errorf("status = %+v, want %+v: only the controller reports", w.Status, want)
	}
	if w.Generation != 1 {
		t.Errorf("generation = %d, want 1", w.Generation)
	}
}

// TestGeneratedNames: the deploymentName defaults to a generated name, so the same limit applies
// to it.
func TestGeneratedNames(t *testing.T) {
	for _, base := range []string{"kubia-", strings.Repeat("a", 52), strings.Repeat("a", 53), strings.Repeat("a", 63)} {
		w := newWebsite(func(w *website.Website) {
			w.ResourceVersion, w.GenerateName, w.Spec.DeploymentName = "", base, ""
		})
		strategy := newStrategy(t)
		w.Name = strategy.GenerateName(base)
		if err := rest.BeforeCreate(strategy, requestContext("v1beta1", ""), w); err != nil {
			t.Errorf("generateName of %d characters: %v", len(base), err)
		}
		if prefix, want := base[:min(len(base), 52)], min(len(base), 52)+5; !strings.HasPrefix(w.Name, prefix) ||
			len(w.Name) != want || w.Spec.DeploymentName != w.Name {
			t.Errorf("generateName %q: name %q and deploymentName %q, want %q with five more characters for both", base, w.Name,
				w.Spec.DeploymentName, prefix)
		}
	}
}

// conditionReady sets a status in a creation.
func conditionReady(w *website.Website) {
	conditions("Ready")(&w.Status)
	w.Status.ObservedGeneration = 1
}

func TestUpdate(t *testing.T) {
	tests := map[string]struct {
		tweak          func(*website.Website)
		wantGeneration int64
	}{
		"nothing changed": {tweak: func(*website.Website) {}, wantGeneration: 4},
		"spec changed":    {tweak: func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](5) }, wantGeneration: 5},
		"labels changed":  {tweak: func(w *website.Website) { w.Labels["team"] = "red" }, wantGeneration: 4},
		"status changed":  {tweak: func(w *website.Website) { w.Status.AvailableReplicas = 99 }, wantGeneration: 4},
		"generation set":  {tweak: func(w *website.Website) { w.Generation = 99 }, wantGeneration: 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			updated := newWebsite(test.tweak)
			ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), updated.Namespace)
			if err := rest.BeforeUpdate(newStrategy(t), ctx, updated, newWebsite()); err != nil {
				t.Fatal(err)
			}
			if updated.Generation != test.wantGeneration {
				t.Errorf("generation = %d, want %d", updated.Generation, test.wantGeneration)
			}
			if !apiequality.Semantic.DeepEqual(updated.Status, newWebsite().Status) {
				t.Errorf("status = %+v: an update of the main resource changed it", updated.Status)
			}
		})
	}
}

func TestStatusUpdateChangesStatusOnly(t *testing.T) {
	updated := newWebsite(func(w *website.Website) {
		w.Status.AvailableReplicas = 1
		w.Spec.Source.Git.Repository = "https://example.com/hijacked.git"
		w.Spec.Replicas = ptr.To[int32](9)
		w.Labels = map[string]string{"team": "red"}
		w.Annotations = map[string]string{"note": "x"}
		w.Finalizers = []string{"example.com/stay"}
		w.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "2"}}
	})
	ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), updated.Namespace)
	if err := rest.BeforeUpdate(NewStatusStrategy(newStrategy(t)), ctx, updated, newWebsite()); err != nil {
		t.Fatal(err)
	}
	if updated.Status.AvailableReplicas != 1 {
		t.Errorf("availableReplicas = %d, want 1", updated.Status.AvailableReplicas)
	}
	if !apiequality.Semantic.DeepEqual(updated.Spec, newWebsite().Spec) {
		t.Errorf("spec = %+v: a status update changed it", updated.Spec)
	}
	if updated.Labels["team"] != "blue" || updated.Annotations != nil || updated.Finalizers != nil ||
		updated.OwnerReferences != nil {
		t.Errorf("metadata = %+v: a status update changed it", updated.ObjectMeta)
	}
	if updated.Generation != 4 {
		t.Errorf("generation = %d, want 4", updated.Generation)
	}
}

// TestDeploymentNameDefaultsToTheName covers a name that the server generates,
// after the defaults of the types.
func TestDeploymentNameDefaultsToTheName(t *testing.T) {
	tests := map[string]struct {
		version, given, want string
	}{
		"v1beta1":           {version: "v1beta1", want: "kubia"},
		"v1beta1, given":    {version: "v1beta1", given: "other", want: "other"},
		"v1alpha1 has none": {version: "v1alpha1", want: ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWebsite(func(w *website.Website) { w.Spec.DeploymentName = test.given })
			newStrategy(t).PrepareForCreate(requestContext(test.version, ""), w)
			if w.Spec.DeploymentName != test.want {
				t.Errorf("deploymentName = %q, want %q", w.Spec.DeploymentName, test.want)
			}
		})
	}
}

// TestOwnersAreKeptInV1beta1: managed fields from a request in v1alpha1 are
// converted, in every store.
func TestOwnersAreKeptInV1beta1(t *testing.T) {
	byAlpha := func(w *website.Website) {
		w.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "team", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "mycontroller.nevermosby.io/v1alpha1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:gitRepo":{}}}`),
		}}
	}
	strategy, ctx := newStrategy(t), requestContext("v1alpha1", "")
	writes := map[string]func(*website.Website){
		"create": func(w *website.Website) { strategy.PrepareForCreate(ctx, w) },
		"update": func(w *website.Website) { strategy.PrepareForUpdate(ctx, w, newWebsite()) },
		"status": func(w *website.Website) { NewStatusStrategy(strategy).PrepareForUpdate(ctx, w, newWebsite()) },
	}
	for name, prepare := range writes {
		t.Run(name, func(t *testing.T) {
			w := newWebsite(byAlpha)
			prepare(w)
			if len(w.ManagedFields) != 1 || w.ManagedFields[0].APIVersion != "mycontroller.nevermosby.io/v1beta1" ||
				w.ManagedFields[0].FieldsV1.GetRawString() != `{"f:spec":{"f:source":{"f:git":{"f:repository":{}}}}}` {
				t.Errorf("owners = %+v, want the repository of v1beta1", w.ManagedFields)
			}
		})
	}
}

func TestPolicies(t *testing.T) {
	strategy, ctx := newStrategy(t), t.Context()
	if !strategy.NamespaceScoped() {
		t.Error("Websites must be namespaced")
	}
	if strategy.AllowCreateOnUpdate(ctx) {
		t.Error("a PUT must not create")
	}
	if !strategy.AllowUnconditionalUpdate(ctx) {
		t.Error("a PUT without resourceVersion must be possible, as for built-in types")
	}
	if got := strategy.DefaultGarbageCollectionPolicy(ctx); got != rest.DeleteDependents {
		t.Errorf("garbage collection policy = %q, want %q", got, rest.DeleteDependents)
	}
}

// TestResetFieldsMatchServedVersions fails when a version is added without
// reset fields: server-side apply would then record ownership of fields that
// the strategies discard.
func TestResetFieldsMatchServedVersions(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatal(err)
	}
	strategy := NewStrategy(scheme)
	if len(scheme.PrioritizedVersionsForGroup(website.GroupName)) != 2 {
		t.Fatalf("versions = %v, want two", scheme.PrioritizedVersionsForGroup(website.GroupName))
	}
	for _, version := range scheme.PrioritizedVersionsForGroup(website.GroupName) {
		api := fieldpath.APIVersion(version.String())
		if set := strategy.GetResetFields()[api]; set == nil || !set.Has(fieldpath.MakePathOrDie("status")) {
			t.Errorf("%s: the main resource must reset status, got %v", api, set)
		}
		if set := NewStatusStrategy(strategy).GetResetFields()[api]; set == nil ||
			!set.Has(fieldpath.MakePathOrDie("spec")) || !set.Has(fieldpath.MakePathOrDie("metadata")) {
			t.Errorf("%s: the status must reset spec and metadata, got %v", api, set)
		}
	}
}
