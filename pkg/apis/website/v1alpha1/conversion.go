package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Convert_v1alpha1_Website_To_website_Website sets the fields that this version lacks from the annotation or, without
// it, to the defaults of v1beta1, except for the type of the Service: that is NodePort, as it was before v1beta1. It
// does not fail for an unreadable annotation, so that validation can report it.
//
// Without the annotation it keeps the fields of a Website in out: the API server converts the response of a mutating
// webhook of this version into the Website of the request, and a webhook that has replaced all annotations does not
// intend to reset fields that it does not know.
func Convert_v1alpha1_Website_To_website_Website(in *Website, out *website.Website, s conversion.Scope) error {
	if _, present := in.Annotations[website.AnnotationCarriedFields]; !present && out.Spec.Source.Git != nil {
		spec, status := out.Spec, out.Status
		if err := autoConvert_v1alpha1_Website_To_website_Website(in, out, s); err != nil {
			return err
		}
		spec.Source.Git = spec.Source.Git.DeepCopy()
		spec.Source.Git.Repository = out.Spec.Source.Git.Repository
		spec.DeploymentName, spec.Replicas = out.Spec.DeploymentName, out.Spec.Replicas
		status.AvailableReplicas = out.Status.AvailableReplicas
		out.Spec, out.Status = spec, status
		return nil
	}
	if err := autoConvert_v1alpha1_Website_To_website_Website(in, out, s); err != nil {
		return err
	}
	annotation, err := unpackAnnotation(in.Annotations[website.AnnotationCarriedFields], &out.Spec, &out.Status)
	if err != nil {
		return err
	}
	out.Annotations = withCarriedFields(in.Annotations, annotation)
	return nil
}

// Convert_website_Website_To_v1alpha1_Website writes the fields that this version
// lacks into an annotation, so that a client that reads and writes back loses
// nothing. An annotation that the other conversion has kept stays: the API server converts a write back and forth for
// server-side apply and for webhooks before it is validated.
func Convert_website_Website_To_v1alpha1_Website(in *website.Website, out *Website, s conversion.Scope) error {
	if err := autoConvert_website_Website_To_v1alpha1_Website(in, out, s); err != nil {
		return err
	}
	kept, present := in.Annotations[website.AnnotationCarriedFields]
	var ignored []string
	if present {
		ignored, _ = ReadAnnotation(kept) // An unreadable one is kept.
	}
	annotation, err := encodeAnnotation(&in.Spec, &in.Status, ignored)
	if err == nil && annotation == "" && present {
		spec, status := in.Spec, in.Status
		annotation, err = unpackAnnotation(kept, &spec, &status)
	}
	if err != nil {
		return err
	}
	out.Annotations = withCarriedFields(in.Annotations, annotation)
	out.ManagedFields = managedFieldsInV1alpha1(in.ManagedFields)
	return nil
}

// Convert_v1alpha1_WebsiteSpec_To_v1beta1_WebsiteSpec converts the fields that this version has.
func Convert_v1alpha1_WebsiteSpec_To_v1beta1_WebsiteSpec(in *WebsiteSpec, out *v1beta1.WebsiteSpec,
	_ conversion.Scope) error {
	out.Source.Git = &v1beta1.GitSource{Repository: in.GitRepo}
	out.DeploymentName, out.Replicas = in.DeploymentName, in.Replicas
	return nil
}

// Convert_v1beta1_WebsiteSpec_To_v1alpha1_WebsiteSpec converts the fields that this version has.
func Convert_v1beta1_WebsiteSpec_To_v1alpha1_WebsiteSpec(in *v1beta1.WebsiteSpec, out *WebsiteSpec,
	_ conversion.Scope) error {
	out.GitRepo = ptr.Deref(in.Source.Git, v1beta1.GitSource{}).Repository
	out.DeploymentName, out.Replicas = in.DeploymentName, in.Replicas
	return nil
}

// Convert_v1alpha1_WebsiteStatus_To_v1beta1_WebsiteStatus converts the field that this version has.
func Convert_v1alpha1_WebsiteStatus_To_v1beta1_WebsiteStatus(in *WebsiteStatus, out *v1beta1.WebsiteStatus,
	_ conversion.Scope) error {
	out.AvailableReplicas = in.AvailableReplicas
	return nil
}

// Convert_v1beta1_WebsiteStatus_To_v1alpha1_WebsiteStatus converts the field that this version has.
func Convert_v1beta1_WebsiteStatus_To_v1alpha1_WebsiteStatus(in *v1beta1.WebsiteStatus, out *WebsiteStatus,
	_ conversion.Scope) error {
	out.AvailableReplicas = in.AvailableReplicas
	return nil
}
