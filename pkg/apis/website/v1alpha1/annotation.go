package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	kjson "sigs.k8s.io/json"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Versions of one object must convert into each other without loss, or a client
// of v1alpha1 that writes back what it has read would reset every field that it
// does not know. Upstream has two answers. Most new fields are added to every
// served version, which a frozen version rules out. A HorizontalPodAutoscaler of
// autoscaling/v1 carries the fields of v2 in annotations, one for each field, and
// drops those that cannot be read. Here it is one annotation, with only what
// differs from the defaults, and one that cannot be read is rejected.

// carried is the content of website.AnnotationV1beta1Fields: what v1beta1 can
// say of a Website and v1alpha1 cannot. A member that is as it would be
// without the annotation is left out.
// +k8s:openapi-gen=false
type carried struct {
	Spec   *carriedSpec           `json:"spec,omitempty"`
	Status *v1beta1.WebsiteStatus `json:"status,omitempty"`
}

// +k8s:openapi-gen=false
type carriedSpec struct {
	Suspend    bool                       `json:"suspend,omitempty"`
	Source     *carriedSource             `json:"source,omitempty"`
	Sync       *v1beta1.WebsiteSync       `json:"sync,omitempty"`
	Serving    *v1beta1.WebsiteServing    `json:"serving,omitempty"`
	Service    *v1beta1.WebsiteService    `json:"service,omitempty"`
	Resources  *v1beta1.WebsiteResources  `json:"resources,omitempty"`
	Scheduling *v1beta1.WebsiteScheduling `json:"scheduling,omitempty"`
}

// carriedSource is v1beta1.WebsiteSource without the repository, which v1alpha1
// expresses itself.
// +k8s:openapi-gen=false
type carriedSource struct {
	Ref             *v1beta1.GitReference    `json:"ref,omitempty"`
	Path            string                   `json:"path,omitempty"`
	Submodules      v1beta1.SubmodulePolicy  `json:"submodules,omitempty"`
	SecretRef       *v1beta1.SecretReference `json:"secretRef,omitempty"`
	CredentialScope v1beta1.CredentialScope  `json:"credentialScope,omitempty"`
}

func sourceOf(spec *v1beta1.WebsiteSpec) carriedSource {
	return carriedSource{
		Ref: spec.Source.Ref, Path: spec.Source.Path, Submodules: spec.Source.Submodules,
		SecretRef: spec.Source.SecretRef, CredentialScope: spec.Source.CredentialScope,
	}
}

// defaultSpec is the spec of a Website of which nothing is said.
func defaultSpec() *v1beta1.WebsiteSpec {
	w := &v1beta1.Website{}
	v1beta1.SetObjectDefaults_Website(w)
	return &w.Spec
}

// differing returns value, or nil when it is as the default.
func differing[T any](value, byDefault *T) *T {
	if apiequality.Semantic.DeepEqual(value, byDefault) {
		return nil
	}
	return value
}

// encodeAnnotation returns the annotation's value for a Website; empty when v1alpha1 can
// say all of it.
func encodeAnnotation(spec *v1beta1.WebsiteSpec, status *v1beta1.WebsiteStatus) (string, error) {
	byDefault := defaultSpec()
	source, defaultSource := sourceOf(spec), sourceOf(byDefault)
	beyondSpec := &carriedSpec{
		Suspend:    spec.Suspend,
		Source:     differing(&source, &defaultSource),
		Sync:       differing(&spec.Sync, &byDefault.Sync),
		Serving:    differing(&spec.Serving, &byDefault.Serving),
		Service:    differing(&spec.Service, &byDefault.Service),
		Resources:  differing(&spec.Resources, &byDefault.Resources),
		Scheduling: differing(&spec.Scheduling, &byDefault.Scheduling),
	}
	beyondStatus := *status
	beyondStatus.AvailableReplicas = 0
	c := carried{Spec: differing(beyondSpec, &carriedSpec{}), Status: differing(&beyondStatus, &v1beta1.WebsiteStatus{})}
	if c == (carried{}) {
		return "", nil
	}
	data, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("carrying fields of v1beta1 in an annotation: %w", err)
	}
	return string(data), nil
}

// decodeAnnotation fills in spec and status from the annotation's value and, where that
// is silent, with defaults. What v1alpha1 expresses itself is left alone. It
// returns an error for a value that was damaged, because ignoring it would
// silently change the Website.
func decodeAnnotation(annotation string, spec *v1beta1.WebsiteSpec, status *v1beta1.WebsiteStatus) error {
	c := carried{}
	if annotation != "" {
		strictErrs, err := kjson.UnmarshalStrict([]byte(annotation), &c)
		if err = errors.Join(append(strictErrs, err)...); err != nil {
			return malformed(err)
		}
	}
	if c.Status != nil {
		if c.Status.AvailableReplicas != 0 {
			return malformed(errors.New(`"status.availableReplicas" belongs in the status itself`))
		}
		available := status.AvailableReplicas
		*status = *c.Status
		status.AvailableReplicas = available
	}

	beyond := c.Spec
	if beyond == nil {
		beyond = &carriedSpec{}
	}
	source := ptr.Deref(beyond.Source, carriedSource{})
	filled := v1beta1.Website{Spec: v1beta1.WebsiteSpec{
		Suspend: beyond.Suspend,
		Source: v1beta1.WebsiteSource{
			Repository: spec.Source.Repository,
			Ref:        source.Ref, Path: source.Path, Submodules: source.Submodules,
			SecretRef: source.SecretRef, CredentialScope: source.CredentialScope,
		},
		Sync:       ptr.Deref(beyond.Sync, v1beta1.WebsiteSync{}),
		Serving:    ptr.Deref(beyond.Serving, v1beta1.WebsiteServing{}),
		Service:    ptr.Deref(beyond.Service, v1beta1.WebsiteService{}),
		Resources:  ptr.Deref(beyond.Resources, v1beta1.WebsiteResources{}),
		Scheduling: ptr.Deref(beyond.Scheduling, v1beta1.WebsiteScheduling{}),
	}}
	// An annotation written by hand may be silent within a member, too.
	v1beta1.SetObjectDefaults_Website(&filled)
	// Whether these are set is for v1alpha1 to say.
	filled.Spec.DeploymentName, filled.Spec.Replicas = spec.DeploymentName, spec.Replicas
	*spec = filled.Spec
	return nil
}

func malformed(err error) error {
	return fmt.Errorf("the annotation %s carries fields of v1beta1 as JSON and cannot be read; restore it, or remove it to reset those fields: %w", website.AnnotationV1beta1Fields, err)
}

// withCarriedFields returns annotations with the one that carries fields set, or
// without it when value is empty. The map itself is not changed: versions of an
// object share it.
func withCarriedFields(annotations map[string]string, value string) map[string]string {
	if _, present := annotations[website.AnnotationV1beta1Fields]; value == "" && !present {
		return annotations
	}
	copied := maps.Clone(annotations)
	if value == "" {
		delete(copied, website.AnnotationV1beta1Fields)
		if len(copied) == 0 {
			return nil
		}
		return copied
	}
	if copied == nil {
		copied = map[string]string{}
	}
	copied[website.AnnotationV1beta1Fields] = value
	return copied
}
