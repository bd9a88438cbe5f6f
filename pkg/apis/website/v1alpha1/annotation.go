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
	Spec   *carriedSpec           `json:"spec,omitempty"`
	Status *v1beta1.WebsiteStatus `json:"status,omitempty"`
	// Ignored has the ignored members with the reasons. It is internal: it keeps
	// them known when the object of a request is converted back and forth.
	Ignored []string `json:"ignored,omitempty"`
}

// +k8s:openapi-gen=false
type carriedSpec struct {
	Suspend    *bool                      `json:"suspend,omitempty"`
	Source     *carriedSource             `json:"source,omitempty"`
	Polling    *v1beta1.WebsitePolling    `json:"polling,omitempty"`
	Serving    *v1beta1.WebsiteServing    `json:"serving,omitempty"`
	Service    *v1beta1.WebsiteService    `json:"service,omitempty"`
	Resources  *v1beta1.WebsiteResources  `json:"resources,omitempty"`
	Storage    *v1beta1.WebsiteStorage    `json:"storage,omitempty"`
	Scheduling *v1beta1.WebsiteScheduling `json:"scheduling,omitempty"`
	Pin        *v1beta1.WebsitePin        `json:"pin,omitempty"`
	Hosts      []v1beta1.WebsiteHost      `json:"hosts,omitempty"`
	Routing    *v1beta1.WebsiteRouting    `json:"routing,omitempty"`
	TLS        *v1beta1.WebsiteTLS        `json:"tls,omitempty"`
	Access     *v1beta1.WebsiteAccess     `json:"access,omitempty"`
	Previews   *v1beta1.WebsitePreviews   `json:"previews,omitempty"`
}

// carriedSource is v1beta1.WebsiteSource without the repository, a field of
// v1alpha1.
// +k8s:openapi-gen=false
type carriedSource struct {
	Git  *carriedGit `json:"git,omitempty"`
	Path string      `json:"path,omitempty"`
}

// +k8s:openapi-gen=false
type carriedGit struct {
	Ref             *v1beta1.GitReference    `json:"ref,omitempty"`
	Submodules      v1beta1.SubmodulePolicy  `json:"submodules,omitempty"`
	SecretRef       *v1beta1.SecretReference `json:"secretRef,omitempty"`
	CredentialScope v1beta1.CredentialScope  `json:"credentialScope,omitempty"`
	CARef           *v1beta1.CAReference     `json:"caRef,omitempty"`
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

// unlessZero is unlessEmpty for types without slices and maps, without reflection: it runs for
// each object of a list.
func unlessZero[T comparable](value *T) *T {
	if *value == *new(T) {
		return nil
	}
	return value
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
	byDefault := defaultSpec()
	var git carriedGit
	if of := spec.Source.Git; of != nil {
		git = carriedGit{
			Ref: of.Ref, Submodules: of.Submodules,
			SecretRef: of.SecretRef, CredentialScope: of.CredentialScope, CARef: of.CARef,
		}
	}
	leaveOut(&git.Submodules, byDefault.Source.Git.Submodules)
	leaveOut(&git.CredentialScope, byDefault.Source.Git.CredentialScope)
	source := carriedSource{Git: unlessZero(&git), Path: spec.Source.Path}
	polling, serving, service := spec.Polling, spec.Serving, spec.Service
	leaveOut(&polling.Mode, byDefault.Polling.Mode)
	leaveOut(&polling.PeriodSeconds, byDefault.Polling.PeriodSeconds)
	leaveOut(&polling.TimeoutSeconds, byDefault.Polling.TimeoutSeconds)
	leaveOut(&serving.Index, byDefault.Serving.Index)
	leaveOut(&serving.NotFoundPath, byDefault.Serving.NotFoundPath)
	leaveOut(&serving.Fallback, byDefault.Serving.Fallback)
	leaveOut(&serving.Charset, byDefault.Serving.Charset)
	leaveOut(&service.Type, byDefault.Service.Type)
	beyondSpec := &carriedSpec{
		Suspend:    spec.Suspend,
		Source:     unlessZero(&source),
		Polling:    unlessZero(&polling),
		Serving:    unlessEmpty(&serving),
		Service:    unlessEmpty(&service),
		Resources:  unlessEmpty(&spec.Resources),
		Storage:    unlessEmpty(&spec.Storage),
		Scheduling: unlessEmpty(&spec.Scheduling),
		Pin:        spec.Pin,
		Routing:    unlessEmpty(&spec.Routing),
		TLS:        spec.TLS,
		Access:     unlessZero(&spec.Access),
		Previews:   spec.Previews,
	}
	if len(spec.Hosts) > 0 {
		beyondSpec.Hosts = spec.Hosts
	}
	beyondStatus := *status
	beyondStatus.AvailableReplicas = 0
	c := carried{Status: unlessEmpty(&beyondStatus), Ignored: ignored}
	if !reflect.ValueOf(beyondSpec).Elem().IsZero() {
		c.Spec = beyondSpec
	}
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
	var beta v1beta1.Website
	if err := v1beta1.Convert_website_Website_To_v1beta1_Website(w, &beta, nil); err != nil {
		return false, err
	}
	carried, err := encodeAnnotation(&beta.Spec, &beta.Status, nil)
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

	beyond := c.Spec
	if beyond == nil {
		beyond = &carriedSpec{}
	}
	source := ptr.Deref(beyond.Source, carriedSource{})
	git := ptr.Deref(source.Git, carriedGit{})
	filled := v1beta1.Website{Spec: v1beta1.WebsiteSpec{
		Suspend: beyond.Suspend,
		Source: v1beta1.WebsiteSource{
			Git: &v1beta1.GitSource{
				Repository: ptr.Deref(spec.Source.Git, v1beta1.GitSource{}).Repository,
				Ref:        git.Ref, Submodules: git.Submodules,
				SecretRef: git.SecretRef, CredentialScope: git.CredentialScope, CARef: git.CARef,
			},
			Path: source.Path,
		},
		Polling:    ptr.Deref(beyond.Polling, v1beta1.WebsitePolling{}),
		Serving:    ptr.Deref(beyond.Serving, v1beta1.WebsiteServing{}),
		Service:    ptr.Deref(beyond.Service, v1beta1.WebsiteService{}),
		Resources:  ptr.Deref(beyond.Resources, v1beta1.WebsiteResources{}),
		Storage:    ptr.Deref(beyond.Storage, v1beta1.WebsiteStorage{}),
		Scheduling: ptr.Deref(beyond.Scheduling, v1beta1.WebsiteScheduling{}),
		Pin:        beyond.Pin,
		Hosts:      beyond.Hosts,
		Routing:    ptr.Deref(beyond.Routing, v1beta1.WebsiteRouting{}),
		TLS:        beyond.TLS,
		Access:     ptr.Deref(beyond.Access, v1beta1.WebsiteAccess{}),
		Previews:   beyond.Previews,
	}}
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
