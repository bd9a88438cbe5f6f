package website

import (
	"context"
	"slices"
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// withBetaFields sets fields that v1alpha1 lacks, and their managers.
func withBetaFields(w *website.Website) {
	w.Spec.Source.Path = "public"
	w.Spec.Service.Type = v1beta1.ServiceTypeClusterIP
	w.Status.Commit = strings.Repeat("a", 40)
	w.ManagedFields = []metav1.ManagedFieldsEntry{
		managedBy("team", `{"f:spec":{"f:replicas":{},"f:service":{"f:type":{}},"f:source":{"f:git":{"f:repository":{}},`+
			`"f:path":{}}}}`),
	}
}

func managedBy(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "mycontroller.nevermosby.io/v1beta1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// scaled is a change by a client of v1alpha1.
func scaled(w *website.Website) { w.Spec.Replicas = ptr.To[int32](5) }

func annotated(value string) func(*website.Website) {
	return func(w *website.Website) { w.Annotations = map[string]string{website.AnnotationCarriedFields: value} }
}

func TestUpdateInV1alpha1(t *testing.T) {
	tests := map[string]struct {
		version string
		// sent is the object after conversion, which has defaults without the annotation.
		sent func(*website.Website)
		want func(*website.Website)
	}{
		"no annotation":    {version: "v1alpha1", sent: scaled, want: tweaks(withBetaFields, scaled)},
		"empty annotation": {version: "v1alpha1", sent: tweaks(scaled, annotated("{}")), want: scaled},
		"annotation with fields": {version: "v1alpha1", sent: func(w *website.Website) { w.Spec.Source.Path = "a" },
			want: func(w *website.Website) { w.Spec.Source.Path = "a" }},
		"annotation that suspends": {version: "v1alpha1", sent: func(w *website.Website) { w.Spec.Suspend = new(true) },
			want: func(w *website.Website) {
				w.Spec.Suspend = new(true)
				w.Spec.Pin = &v1beta1.WebsitePin{Commit: strings.Repeat("a", 40), Cause: v1beta1.PinCauseSuspend}
			}},
		"a request in v1beta1 resets": {version: "v1beta1", sent: scaled, want: scaled},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			updated, old, want := newWebsite(test.sent), newWebsite(withBetaFields), newWebsite(test.want)
			if err := rest.BeforeUpdate(newStrategy(t), requestContext(test.version, ""), updated, old); err != nil {
				t.Fatal(err)
			}
			if !apiequality.Semantic.DeepEqual(updated.Spec, want.Spec) {
				t.Errorf("spec = %+v, want %+v", updated.Spec, want.Spec)
			}
			if len(updated.Annotations) != 0 {
				t.Errorf("annotations = %v, want none", updated.Annotations)
			}
			if updated.Status.Commit != old.Status.Commit {
				t.Errorf("status = %+v: an update of the main resource changed it", updated.Status)
			}
		})
	}
}

// TestManagersOfKeptFields: the field manager has removed them, as it compared with defaults.
func TestManagersOfKeptFields(t *testing.T) {
	updated := newWebsite(scaled, func(w *website.Website) {
		w.ManagedFields = []metav1.ManagedFieldsEntry{managedBy("team",
			`{"f:spec":{"f:source":{"f:git":{"f:repository":{}}}}}`), managedBy("client", `{"f:spec":{"f:replicas":{}}}`)}
	})
	newStrategy(t).PrepareForUpdate(requestContext("v1alpha1", ""), updated, newWebsite(withBetaFields))
	want := []string{`{"f:spec":{"f:service":{"f:type":{}},"f:source":{"f:git":{"f:repository":{}},"f:path":{}}}}`,
		`{"f:spec":{"f:replicas":{}}}`}
	var got []string
	for _, entry := range updated.ManagedFields {
		got = append(got, entry.FieldsV1.GetRawString())
	}
	if !slices.Equal(got, want) {
		t.Errorf("managed fields = %q, want %q", got, want)
	}
}

func TestStatusUpdateInV1alpha1KeepsTheRest(t *testing.T) {
	updated := newWebsite(func(w *website.Website) { w.Status = v1beta1.WebsiteStatus{AvailableReplicas: 1} })
	NewStatusStrategy(newStrategy(t)).PrepareForUpdate(requestContext("v1alpha1", ""), updated, newWebsite(withBetaFields))
	if updated.Status.AvailableReplicas != 1 || updated.Status.Commit == "" {
		t.Errorf("status = %+v, want 1 available replica and the stored commit", updated.Status)
	}
}

// writesInV1alpha1 are the writes that accept the annotation.
func writesInV1alpha1(t *testing.T) map[string]func(context.Context, *website.Website) error {
	strategy := newStrategy(t)
	return map[string]func(context.Context, *website.Website) error{
		"create": func(ctx context.Context, w *website.Website) error {
			w.ResourceVersion = ""
			return rest.BeforeCreate(strategy, ctx, w)
		},
		"update": func(ctx context.Context, w *website.Website) error {
			return rest.BeforeUpdate(strategy, ctx, w, newWebsite())
		},
		"status": func(ctx context.Context, w *website.Website) error {
			return rest.BeforeUpdate(NewStatusStrategy(strategy), ctx, w, newWebsite(withBetaFields))
		},
	}
}

// TestUnreadableAnnotationIsInvalid: every write returns Invalid instead of an internal error.
func TestUnreadableAnnotationIsInvalid(t *testing.T) {
	damaged := newWebsite(annotated(`{"spec":{"suspend":"yes"}}`))
	want := `metadata.annotations[mycontroller.nevermosby.io/fields-of-other-versions]: Invalid value: must be the ` +
		`fields of v1beta1 as JSON; ` +
		`remove the annotation to keep the stored fields: json: cannot unmarshal string into Go struct field ` +
		`WebsiteSpec.spec.suspend of type bool`
	for name, write := range writesInV1alpha1(t) {
		t.Run(name, func(t *testing.T) {
			err := write(requestContext("v1alpha1", ""), damaged.DeepCopy())
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("error = %v, want %s", err, want)
			}
		})
	}
}

// recorder collects warnings.
type recorder []string

func (r *recorder) AddWarning(_, text string) { *r = append(*r, text) }

// TestUnknownMembersOfTheAnnotation: they are treated as unknown fields of the request, and
// never stored.
func TestUnknownMembersOfTheAnnotation(t *testing.T) {
	const ignored = `metadata.annotations[mycontroller.nevermosby.io/fields-of-other-versions]: unknown field "spec.later"`
	tests := map[string]struct {
		validation string
		warnings   []string
		invalid    bool
	}{
		"by default": {warnings: []string{ignored}},
		"Warn":       {validation: metav1.FieldValidationWarn, warnings: []string{ignored}},
		"Ignore":     {validation: metav1.FieldValidationIgnore},
		"Strict":     {validation: metav1.FieldValidationStrict, invalid: true},
	}
	for name, test := range tests {
		for what, write := range writesInV1alpha1(t) {
			t.Run(name+", "+what, func(t *testing.T) {
				var warnings recorder
				ctx := WithFieldValidation(warning.WithWarningRecorder(requestContext("v1alpha1", ""), &warnings), test.validation)
				w := newWebsite(annotated(`{"ignored":["unknown field \"spec.later\""]}`))
				err := write(ctx, w)
				switch {
				case test.invalid && (!apierrors.IsInvalid(err) ||
					!strings.HasSuffix(err.Error(), "Invalid value: "+`unknown field "spec.later"`)):
					t.Errorf("error = %v, want it invalid", err)
				case !test.invalid && (err != nil || len(w.Annotations) != 0):
					t.Errorf("error %v, annotations %v; want neither", err, w.Annotations)
				}
				if !slices.Equal(warnings, test.warnings) {
					t.Errorf("warnings = %q, want %q", warnings, test.warnings)
				}
			})
		}
	}
}

// TestAnnotationThatChangesFieldsWarns: the warning names the fields.
func TestAnnotationThatChangesFieldsWarns(t *testing.T) {
	changes := "metadata.annotations[mycontroller.nevermosby.io/fields-of-other-versions]: changes spec.source.path, " +
		"spec.service; remove the annotation to keep the stored values"
	tests := map[string]struct {
		version string
		tweak   func(*website.Website)
		want    []string
	}{
		"fields change":     {version: "v1alpha1", tweak: scaled, want: []string{changes}},
		"fields stay":       {version: "v1alpha1", tweak: tweaks(withBetaFields, scaled)},
		"fields of v1beta1": {version: "v1beta1", tweak: scaled},
		"nothing but a label": {version: "v1alpha1",
			tweak: tweaks(withBetaFields, func(w *website.Website) { w.Labels["team"] = "red" })},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := newStrategy(t).WarningsOnUpdate(requestContext(test.version, ""), newWebsite(test.tweak),
				newWebsite(withBetaFields))
			if !slices.Equal(got, test.want) {
				t.Errorf("warnings = %q, want %q", got, test.want)
			}
		})
	}
}

// TestUpdateWithoutDeploymentName: v1beta1 defaults the field, v1alpha1 requires it.
func TestUpdateWithoutDeploymentName(t *testing.T) {
	unnamed := func(w *website.Website) { w.Spec.DeploymentName = "" }
	for version, want := range map[string]string{"v1beta1": "",
		"v1alpha1": "spec.deploymentName: Required value: the name of the Deployment"} {
		t.Run(version, func(t *testing.T) {
			updated := newWebsite(unnamed)
			err := rest.BeforeUpdate(newStrategy(t), requestContext(version, ""), updated, newWebsite())
			switch {
			case want == "" && (err != nil || updated.Spec.DeploymentName != "kubia-website"):
				t.Errorf("deploymentName = %q (%v), want the stored one", updated.Spec.DeploymentName, err)
			case want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)):
				t.Errorf("error = %v, want %s", err, want)
			}
		})
	}
}

// TestChangedCarriedFields: a warning names the members of the spec that v1alpha1 lacks, and the members of
// its source and repository, which it has in part.
func TestChangedCarriedFields(t *testing.T) {
	changed := newWebsite(previewing(inDomain("example.com")), func(w *website.Website) {
		w.Spec.DeploymentName, w.Spec.Replicas, w.Spec.Suspend = "other", ptr.To[int32](5), ptr.To(false)
		w.Spec.Source.Path = "docs"
		w.Spec.Source.Git.Repository, w.Spec.Source.Git.CARef = "https://example.com/other.git",
			&v1beta1.CAReference{SecretName: "ca", Key: "k"}
	})
	for name, test := range map[string]struct {
		old  *website.Website
		want string
	}{
		"unchanged": {old: changed},
		"changed": {old: newWebsite(),
			want: "spec.suspend, spec.source.git.caRef, spec.source.path, spec.previews"},
		"without a repository": {old: newWebsite(func(w *website.Website) { w.Spec.Source.Git = nil }),
			want: "spec.suspend, spec.source.git.submodules, spec.source.git.credentialScope, spec.source.git.caRef, " +
				"spec.source.path, spec.previews"},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			if test.want != "" {
				want = []string{"metadata.annotations[" + website.AnnotationCarriedFields + "]: changes " + test.want +
					"; remove the annotation to keep the stored values"}
			}
			if got := annotationWarnings(requestContext("v1alpha1", ""), &changed.Spec,
				&test.old.Spec); !slices.Equal(got, want) {
				t.Errorf("warnings %q, want %q", got, want)
			}
		})
	}
}
