package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	kjson "sigs.k8s.io/json"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Versions must convert into each other without loss, or a v1alpha1 client that
// writes back a Website would reset the fields that it does not know. Upstream
// adds most new fields to every served version, which a frozen version rules out,
// or stores the fields of autoscaling/v2 in annotations of autoscaling/v1, one
// for each field, and ignores unreadable ones. Here there is one annotation with
// the fields that differ from the defaults. An unreadable one is rejected, and
// unknown members are treated as unknown fields of a request: a later version of
// the server may have written them.

// carried is the content of website.AnnotationCarriedFields: the fields of
// v1beta1 that v1alpha1 lacks. Members with default values are left out.
// +k8s:openapi-gen=false
type carried struct {
	Spec   *v1beta1.WebsiteSpec   `json:"spec,omitempty"`
	Status *v1beta1.WebsiteStatus `json:"status,omitempty"`
	// Ignored has the ignored members with the reasons. It is internal: it keeps
	// them known when the object of a request is converted back and forth.
	Ignored []string `json:"ignored,omitempty"`
}

// defaultServiceType is the default of v1alpha1: the Service of the original controller had a node port. It is no
// constant: openapi-gen would take this comment for the description of the value.
var defaultServiceType = v1beta1.ServiceTypeNodePort

// defaultSpec returns the defaults of the fields that this version lacks; they are only read.
var defaultSpec = sync.OnceValue(func() *v1beta1.WebsiteSpec {
	w := &v1beta1.Website{Spec: v1beta1.WebsiteSpec{
		Source:  v1beta1.WebsiteSource{Git: &v1beta1.GitSource{}},
		Service: v1beta1.WebsiteService{Type: defaultServiceType},
	}}
	v1beta1.SetObjectDefaults_Website(w)
	return &w.Spec
})

// leaveOut empties a member that equals the default, which decodeAnnotation sets again.
func leaveOut[T comparable](member *T, byDefault T) {
	if *member == byDefault {
		*member = *new(T)
	}
}

// unlessEmpty returns value, or nil if no member of it is set. Most values are zero, which is cheaper to detect than
// empty maps and slices.
func unlessEmpty[T any](value *T) *T {
	if reflect.ValueOf(value).Elem().IsZero() || apiequality.Semantic.DeepEqual(value, new(T)) {
		return nil
	}
	return value
}

// encodeAnnotation returns the annotation's value for a Website; empty if all
// fields that v1alpha1 lacks have their defaults and nothing was ignored.
func encodeAnnotation(spec *v1beta1.WebsiteSpec, status *v1beta1.WebsiteStatus, ignored []string) (string, error) {
	byDefault, beyond := defaultSpec(), *spec
	beyond.DeploymentName, beyond.Replicas = "", nil
	git := ptr.Deref(spec.Source.Git, v1beta1.GitSource{})
	git.Repository = ""
	leaveOut(&git.Submodules, byDefault.Source.Git.Submodules)
	leaveOut(&git.CredentialScope, byDefault.Source.Git.CredentialScope)
	if beyond.Source.Git = &git; git == (v1beta1.GitSource{}) {
		beyond.Source.Git = nil
	}
	leaveOut(&beyond.Polling.Mode, byDefault.Polling.Mode)
	leaveOut(&beyond.Polling.PeriodSeconds, byDefault.Polling.PeriodSeconds)
	leaveOut(&beyond.Polling.TimeoutSeconds, byDefault.Polling.TimeoutSeconds)
	leaveOut(&beyond.Serving.Index, byDefault.Serving.Index)
	leaveOut(&beyond.Serving.NotFoundPath, byDefault.Serving.NotFoundPath)
	leaveOut(&beyond.Serving.Fallback, byDefault.Serving.Fallback)
	leaveOut(&beyond.Serving.Charset, byDefault.Serving.Charset)
	leaveOut(&beyond.Service.Type, byDefault.Service.Type)
	beyondStatus := *status
	beyondStatus.AvailableReplicas = 0
	c := carried{Spec: unlessEmpty(&beyond), Status: unlessEmpty(&beyondStatus), Ignored: ignored}
	if c.Spec == nil && c.Status == nil && len(ignored) == 0 {
		return "", nil
	}
	var encoded strings.Builder
	if err := json.NewEncoder(&encoded).Encode(c); err != nil {
		return "", fmt.Errorf("encoding the fields of v1beta1 in an annotation: %w", err)
	}
	return strings.TrimSuffix(encoded.String(), "\n"), nil
}

// unpackAnnotation sets spec and status from the annotation's value, and returns
// the value of the annotation to keep: one that sets no field, to distinguish it
// from an absent one, the list of ignored members, and an unreadable value.
func unpackAnnotation(value string, spec *v1beta1.WebsiteSpec, status *v1beta1.WebsiteStatus) (string, error) {
	ignored, err := decodeAnnotation(value, spec, status)
	if err != nil {
		_, err = decodeAnnotation("", spec, status)
		return value, err
	}
	if len(ignored) > 0 {
		return encodeAnnotation(defaultSpec(), &v1beta1.WebsiteStatus{}, ignored)
	}
	if value == "" {
		return "", nil
	}
	carried, err := encodeAnnotation(spec, status, nil)
	if err != nil || carried != "" {
		return "", err
	}
	return "{}", nil
}

// CarriesFields reports whether a Website of the internal version has values other
// than the defaults in fields that v1alpha1 lacks.
func CarriesFields(w *website.Website) (bool, error) {
	carried, err := encodeAnnotation(&w.Spec, &w.Status, nil)
	return carried != "", err
}

// ReadAnnotation returns the ignored members of the annotation's value, with the reasons.
// It returns an error if the value cannot be read.
func ReadAnnotation(value string) (ignored []string, err error) {
	return decodeAnnotation(value, &v1beta1.WebsiteSpec{}, &v1beta1.WebsiteStatus{})
}

// maxIgnored is the number of ignored members that are kept of an annotation, and that are reported
// at once: each is a warning.
const maxIgnored = 100

// decodeAnnotation sets the fields that v1alpha1 lacks from the annotation's
// value, and the others to their defaults. It returns unknown and duplicate
// members, and an error for a malformed value, because ignoring that would
// silently change the Website.
func decodeAnnotation(
	annotation string, spec *v1beta1.WebsiteSpec, status *v1beta1.WebsiteStatus,
) (ignored []string, err error) {
	c := carried{}
	if annotation != "" {
		if strings.TrimSpace(annotation) == "null" {
			return nil, errors.New("must be an object: null would reset all fields to their defaults")
		}
		strictErrs, err := kjson.UnmarshalStrict([]byte(annotation), &c)
		if err != nil {
			return nil, err
		}
		ignored = c.Ignored[:min(len(c.Ignored), maxIgnored)]
		for _, strictErr := range strictErrs {
			ignored = append(ignored, strictErr.Error())
		}
	}
	if c.Status != nil {
		if c.Status.AvailableReplicas != 0 {
			return nil, errors.New(`"status.availableReplicas" belongs in the status itself`)
		}
		available := status.AvailableReplicas
		*status = *c.Status
		status.AvailableReplicas = available
	}

	filled := v1beta1.Website{Spec: ptr.Deref(c.Spec, v1beta1.WebsiteSpec{})}
	ignored = append(ignored, misplaced(&filled.Spec)...)
	git := ptr.Deref(filled.Spec.Source.Git, v1beta1.GitSource{})
	git.Repository = ptr.Deref(spec.Source.Git, v1beta1.GitSource{}).Repository
	filled.Spec.Source.Git = &git
	if filled.Spec.Service.Type == "" {
		filled.Spec.Service.Type = defaultServiceType
	}
	// An annotation written by a user may lack fields of a member, too.
	v1beta1.SetObjectDefaults_Website(&filled)
	// These are fields of v1alpha1, with its own defaults.
	filled.Spec.DeploymentName, filled.Spec.Replicas = spec.DeploymentName, spec.Replicas
	*spec = filled.Spec
	return ignored, nil
}

// misplaced returns the members that are fields of v1alpha1, which are ignored like unknown ones.
func misplaced(spec *v1beta1.WebsiteSpec) (ignored []string) {
	if spec.DeploymentName != "" {
		ignored = append(ignored, `unknown field "spec.deploymentName"`)
	}
	if spec.Replicas != nil {
		ignored = append(ignored, `unknown field "spec.replicas"`)
	}
	if spec.Source.Git != nil && spec.Source.Git.Repository != "" {
		ignored = append(ignored, `unknown field "spec.source.git.repository"`)
	}
	return ignored
}

// withCarriedFields returns annotations with value, or without the annotation if
// value is empty. The map is not changed: the versions of an object share it.
func withCarriedFields(annotations map[string]string, value string) map[string]string {
	if _, present := annotations[website.AnnotationCarriedFields]; value == "" && !present {
		return annotations
	}
	copied := maps.Clone(annotations)
	if value == "" {
		delete(copied, website.AnnotationCarriedFields)
		if len(copied) == 0 {
			return nil
		}
		return copied
	}
	if copied == nil {
		copied = map[string]string{}
	}
	copied[website.AnnotationCarriedFields] = value
	return copied
}
