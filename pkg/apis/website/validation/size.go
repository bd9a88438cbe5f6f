package validation

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// MaxBytes is the maximum size of a Website as it is stored, without its status.
	// API servers keep at least the last hundred versions in memory. It is below the
	// limit of a request to etcd (1.5 MiB).
	MaxBytes = 1 << 20
	// maxSpecBytes is the maximum size of a spec as JSON of v1beta1. The nginx
	// configuration then fits into a ConfigMap (1 MiB).
	maxSpecBytes = 512 << 10
	// maxSmallPartsBytes is the maximum size, as JSON, of labels, finalizers and owner
	// references together, and of scheduling and resources together. In memory, such
	// short elements take a multiple of it.
	maxSmallPartsBytes = 64 << 10
	// MaxOwnerReferences, MaxManagedFields, maxFinalizers and maxAnnotations are the maximum numbers of them: patches,
	// server-side apply and admission take time with the square of it.
	MaxOwnerReferences, MaxManagedFields, maxFinalizers, maxAnnotations = 128, 256, 128, 1000
)

// EncodedSize returns the size of a Website as protobuf of v1beta1.
func EncodedSize(w *website.Website) int {
	var beta v1beta1.Website
	if err := v1beta1.Convert_website_Website_To_v1beta1_Website(w, &beta, nil); err != nil {
		return 0
	}
	return beta.Size()
}

// validateObjectSize checks the size of a Website, and how many of some parts it has, unless old, which is nil on
// creation, has as much.
func validateObjectSize(w, old *website.Website) field.ErrorList {
	var errs field.ErrorList
	check := func(what string, limit int, path *field.Path, size func(*website.Website) int) {
		if n := size(w); n > limit && (old == nil || n > size(old)) {
			err := field.TooLong(path, "", limit)
			err.Detail = fmt.Sprintf("%s may not be more than %d bytes: the size is %d", what, limit, n)
			errs = append(errs, err)
		}
	}
	check("the Website, with the managed fields of all its field managers,", MaxBytes, field.NewPath("metadata"), func(w *website.Website) int {
		stored := *w
		stored.Status = website.WebsiteStatus{}
		return EncodedSize(&stored)
	})
	check("labels, finalizers and ownerReferences as JSON, together,", maxSmallPartsBytes, field.NewPath("metadata"), func(w *website.Website) int {
		return jsonSize(w.Labels) + jsonSize(w.Finalizers) + jsonSize(w.OwnerReferences)
	})
	check("scheduling and resources as JSON, together,", maxSmallPartsBytes, field.NewPath("spec"), func(w *website.Website) int {
		return jsonSize(w.Spec.Scheduling) + jsonSize(w.Spec.Resources)
	})
	count := func(limit int, path *field.Path, number func(*website.Website) int) {
		if n := number(w); n > limit && (old == nil || n > number(old)) {
			errs = append(errs, field.TooMany(path, n, limit))
		}
	}
	count(maxAnnotations, field.NewPath("metadata", "annotations"), func(w *website.Website) int { return len(w.Annotations) })
	count(maxFinalizers, field.NewPath("metadata", "finalizers"), func(w *website.Website) int { return len(w.Finalizers) })
	count(MaxManagedFields, field.NewPath("metadata", "managedFields"), func(w *website.Website) int { return len(w.ManagedFields) })
	count(MaxOwnerReferences, field.NewPath("metadata", "ownerReferences"), func(w *website.Website) int { return len(w.OwnerReferences) })
	return errs
}

// validateSize checks the size of spec, unless old, which is nil on creation, is
// as large. The error is at the list or map that takes most of it.
func validateSize(spec, old *website.WebsiteSpec, path *field.Path) field.ErrorList {
	var beta v1beta1.WebsiteSpec
	if err := v1beta1.Convert_website_WebsiteSpec_To_v1beta1_WebsiteSpec(spec, &beta, nil); err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	size := jsonSize(beta)
	if size <= maxSpecBytes || old != nil && size <= specSize(old) {
		return nil
	}
	largest, largestSize := path, 0
	for _, member := range []struct {
		path  *field.Path
		value any
	}{
		{path.Child("serving", "redirects"), beta.Serving.Redirects},
		{path.Child("serving", "headers"), beta.Serving.Headers},
		{path.Child("scheduling", "nodeSelector"), beta.Scheduling.NodeSelector},
		{path.Child("scheduling", "tolerations"), beta.Scheduling.Tolerations},
	} {
		if memberSize := jsonSize(member.value); memberSize > largestSize {
			largest, largestSize = member.path, memberSize
		}
	}
	err := field.TooLong(largest, "", maxSpecBytes)
	err.Detail = fmt.Sprintf("the spec may not be more than %d bytes as JSON: it has %d, %d of them here", maxSpecBytes, size, largestSize)
	return field.ErrorList{err}
}

func specSize(spec *website.WebsiteSpec) int {
	var beta v1beta1.WebsiteSpec
	if err := v1beta1.Convert_website_WebsiteSpec_To_v1beta1_WebsiteSpec(spec, &beta, nil); err != nil {
		return 0
	}
	return jsonSize(beta)
}

// jsonSize returns the size of value as JSON, with the escapes that are necessary.
func jsonSize(value any) int {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return 0
	}
	return encoded.Len() - 1
}
