package v1alpha1

import (
	"maps"

	"k8s.io/apimachinery/pkg/conversion"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/carry"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Convert_v1alpha1_Website_To_website_Website fills in what this version cannot
// express: from the annotation that carries it or, without one, with the
// defaults of v1beta1.
func Convert_v1alpha1_Website_To_website_Website(in *Website, out *website.Website, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_Website_To_website_Website(in, out, s); err != nil {
		return err
	}
	var beta v1beta1.Website
	if err := v1beta1.Convert_website_WebsiteSpec_To_v1beta1_WebsiteSpec(&out.Spec, &beta.Spec, s); err != nil {
		return err
	}
	if err := v1beta1.Convert_website_WebsiteStatus_To_v1beta1_WebsiteStatus(&out.Status, &beta.Status, s); err != nil {
		return err
	}
	if err := carry.Decode(in.Annotations[website.AnnotationV1beta1Fields], &beta.Spec, &beta.Status); err != nil {
		return err
	}
	if err := v1beta1.Convert_v1beta1_WebsiteSpec_To_website_WebsiteSpec(&beta.Spec, &out.Spec, s); err != nil {
		return err
	}
	if err := v1beta1.Convert_v1beta1_WebsiteStatus_To_website_WebsiteStatus(&beta.Status, &out.Status, s); err != nil {
		return err
	}
	out.Annotations = withCarriedFields(in.Annotations, "")
	out.ManagedFields = carry.OwnersInV1beta1(in.ManagedFields)
	return nil
}

// Convert_website_Website_To_v1alpha1_Website puts what this version cannot
// express into an annotation, so that reading and writing back loses nothing.
func Convert_website_Website_To_v1alpha1_Website(in *website.Website, out *Website, s conversion.Scope) error {
	if err := autoConvert_website_Website_To_v1alpha1_Website(in, out, s); err != nil {
		return err
	}
	var beta v1beta1.Website
	if err := v1beta1.Convert_website_WebsiteSpec_To_v1beta1_WebsiteSpec(&in.Spec, &beta.Spec, s); err != nil {
		return err
	}
	if err := v1beta1.Convert_website_WebsiteStatus_To_v1beta1_WebsiteStatus(&in.Status, &beta.Status, s); err != nil {
		return err
	}
	annotation, err := carry.Encode(&beta.Spec, &beta.Status)
	if err != nil {
		return err
	}
	out.Annotations = withCarriedFields(in.Annotations, annotation)
	out.ManagedFields = carry.OwnersInV1alpha1(in.ManagedFields)
	return nil
}

// Convert_v1alpha1_WebsiteSpec_To_website_WebsiteSpec converts what this
// version can express.
func Convert_v1alpha1_WebsiteSpec_To_website_WebsiteSpec(in *WebsiteSpec, out *website.WebsiteSpec, s conversion.Scope) error {
	out.Source.Repository = in.GitRepo
	return autoConvert_v1alpha1_WebsiteSpec_To_website_WebsiteSpec(in, out, s)
}

// Convert_website_WebsiteSpec_To_v1alpha1_WebsiteSpec converts what this
// version can express.
func Convert_website_WebsiteSpec_To_v1alpha1_WebsiteSpec(in *website.WebsiteSpec, out *WebsiteSpec, s conversion.Scope) error {
	out.GitRepo = in.Source.Repository
	return autoConvert_website_WebsiteSpec_To_v1alpha1_WebsiteSpec(in, out, s)
}

// Convert_website_WebsiteStatus_To_v1alpha1_WebsiteStatus converts what this
// version can express.
func Convert_website_WebsiteStatus_To_v1alpha1_WebsiteStatus(in *website.WebsiteStatus, out *WebsiteStatus, s conversion.Scope) error {
	return autoConvert_website_WebsiteStatus_To_v1alpha1_WebsiteStatus(in, out, s)
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
