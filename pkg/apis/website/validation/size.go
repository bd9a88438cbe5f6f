package validation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// MaxBytes is the maximum size of a stored Website without its status: the limits of all annotations (256 KiB), of
	// the spec and of the small parts, and as much again as the small parts for managed fields. API servers keep at
	// least the last hundred versions in memory. With the status, it is below the limit of a request to etcd (1.5 MiB).
	MaxBytes = 512 << 10
	// maxSpecBytes is the maximum size of a spec as JSON of v1beta1, in the form of countedSpec. "kubectl apply"
	// keeps the manifest in an annotation, and all annotations together may have 256 KiB. The nginx configuration
	// fits into a ConfigMap (1 MiB).
	maxSpecBytes = 128 << 10
	// MaxStatusBytes is the maximum size of a status as JSON of v1beta1, as StatusSize counts it, and maxMessageBytes
	// the maximum size of the message of a condition.
	MaxStatusBytes, maxMessageBytes = 256 << 10, 4 << 10
	// maxSmallPartsBytes is the maximum size, as JSON, of labels, finalizers and owner
	// references together, and of scheduling and resources together. In memory, such
	// short elements take a multiple of it.
	maxSmallPartsBytes = 64 << 10
	// MaxOwnerReferences, MaxManagedFields, maxFinalizers and maxAnnotations are maximum numbers: the time of patches,
	// server-side apply and admission grows with their square.
	MaxOwnerReferences, MaxManagedFields, maxFinalizers, maxAnnotations = 128, 256, 128, 1000
	// maxEntryBytes is more than the entry of managed fields of a client that removes a finalizer.
	maxEntryBytes = 4 << 10
)

// EncodedSize returns the size of a Website as protobuf of v1beta1.
func EncodedSize(w *website.Website) int {
	return (&v1beta1.Website{ObjectMeta: w.ObjectMeta, Spec: w.Spec, Status: w.Status}).Size()
}

// validateObjectSize checks the size of a Website, and the numbers of some parts, unless old, which is nil on
// creation, has as much. A client that removes a finalizer may add its entry of managed fields: a stored object
// can always be deleted.
func validateObjectSize(w, old *website.Website) field.ErrorList {
	var errs field.ErrorList
	addedEntries, addedBytes := 0, 0
	if old != nil && len(w.Finalizers) < len(old.Finalizers) {
		addedEntries, addedBytes = 1, maxEntryBytes
	}
	check := func(what string, limit, added int, path *field.Path, size func(*website.Website) int) {
		if n := size(w); n > limit && (old == nil || n > size(old)+added) {
			err := field.TooLong(path, "", limit)
			err.Detail = fmt.Sprintf("%s may not be more than %d bytes: the size is %d", what, limit, n)
			errs = append(errs, err)
		}
	}
	storedSize := func(w *website.Website) int {
		stored := *w
		stored.Status = v1beta1.WebsiteStatus{}
		return EncodedSize(&stored)
	}
	check("the Website, with the managed fields of all its field managers,", MaxBytes, addedBytes,
		field.NewPath("metadata"), storedSize)
	if maxGrowth*storedSize(w) > maxSmallPartsBytes {
		check("labels, finalizers and ownerReferences as JSON, together,", maxSmallPartsBytes, 0, field.NewPath("metadata"),
			func(w *website.Website) int {
				return jsonSize(w.Labels) + jsonSize(w.Finalizers) + jsonSize(w.OwnerReferences)
			})
		check("scheduling and resources as JSON, together,", maxSmallPartsBytes, 0, field.NewPath("spec"),
			func(w *website.Website) int {
				return jsonSize(w.Spec.Scheduling) + jsonSize(w.Spec.Resources)
			})
	}
	count := func(limit, added int, path *field.Path, number func(*website.Website) int) {
		if n := number(w); n > limit && (old == nil || n > number(old)+added) {
			errs = append(errs, field.TooMany(path, n, limit))
		}
	}
	count(maxAnnotations, 0, field.NewPath("metadata", "annotations"),
		func(w *website.Website) int { return len(w.Annotations) })
	count(maxFinalizers, 0, field.NewPath("metadata", "finalizers"),
		func(w *website.Website) int { return len(w.Finalizers) })
	count(MaxManagedFields, addedEntries, field.NewPath("metadata", "managedFields"),
		func(w *website.Website) int { return len(w.ManagedFields) })
	count(MaxOwnerReferences, 0, field.NewPath("metadata", "ownerReferences"),
		func(w *website.Website) int { return len(w.OwnerReferences) })
	return errs
}

// validateSize checks the size of spec against old's, which is nil on creation.
func validateSize(spec, old *v1beta1.WebsiteSpec, path *field.Path) field.ErrorList {
	if maxGrowth*countedSpec(spec).Size() <= maxSpecBytes {
		return nil
	}
	parts := func(spec *v1beta1.WebsiteSpec) (int, []part) {
		counted := countedSpec(spec)
		return jsonSize(counted), []part{
			{path.Child("serving", "redirects"), counted.Serving.Redirects},
			{path.Child("serving", "headers"), counted.Serving.Headers},
			{path.Child("serving", "types"), counted.Serving.Types},
			{path.Child("service", "annotations"), counted.Service.Annotations},
			{path.Child("scheduling", "nodeSelector"), counted.Scheduling.NodeSelector},
			{path.Child("scheduling", "tolerations"), counted.Scheduling.Tolerations},
		}
	}
	return validateParts("the spec", maxSpecBytes, spec, old, path, parts)
}

// countedSpec returns the limited part of a spec: without the default status codes of redirects, and without small
// fields that must always be changeable: for a rollback, suspending and scaling.
func countedSpec(spec *v1beta1.WebsiteSpec) *v1beta1.WebsiteSpec {
	counted := *spec
	counted.Pin, counted.Suspend, counted.Replicas = nil, nil, nil
	counted.Serving.Redirects = slices.Clone(counted.Serving.Redirects)
	for i := range counted.Serving.Redirects {
		if redirect := &counted.Serving.Redirects[i]; redirect.StatusCode == defaultStatusCode {
			redirect.StatusCode = 0
		}
	}
	return &counted
}

// validateStatusSize checks the size of status against old's.
func validateStatusSize(status, old *v1beta1.WebsiteStatus, path *field.Path) field.ErrorList {
	if StatusFits(status) {
		return nil
	}
	parts := func(status *v1beta1.WebsiteStatus) (int, []part) {
		return StatusSize(status), []part{
			{path.Child("conditions"), status.Conditions},
			{path.Child("hosts"), status.Hosts},
			{path.Child("previews"), status.Previews},
			{path.Child("history"), status.History},
			{path.Child("urls"), status.URLs},
		}
	}
	return validateParts("the status", MaxStatusBytes, status, old, path, parts)
}

// maxGrowth is an upper bound of the ratio between the sizes of a spec or status as JSON and as protobuf. Sizes below
// a limit by that much need no JSON, which takes longer to encode than all else in validation.
const maxGrowth = 16

// StatusFits reports whether a status is within MaxStatusBytes. Most are far below: encoding each as JSON would
// take longer than computing it.
func StatusFits(status *v1beta1.WebsiteStatus) bool {
	return maxGrowth*status.Size() <= MaxStatusBytes || StatusSize(status) <= MaxStatusBytes
}

// StatusSize returns the size of a status as JSON, without sync: that is small, and a request to sync must not be
// rejected for the size of the rest.
func StatusSize(status *v1beta1.WebsiteStatus) int {
	counted := *status
	counted.Sync = nil
	return jsonSize(counted)
}

// validateMessages checks the size of the messages of conditions, unless the condition of that type in old has one of
// this size.
func validateMessages(conditions, old []metav1.Condition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range conditions {
		size := len(conditions[i].Message)
		before := meta.FindStatusCondition(old, conditions[i].Type)
		if size <= maxMessageBytes || before != nil && size <= len(before.Message) {
			continue
		}
		err := field.TooLong(path.Index(i).Child("message"), "", maxMessageBytes)
		err.Detail = fmt.Sprintf("may not be more than %d bytes: the size is %d", maxMessageBytes, size)
		errs = append(errs, err)
	}
	return errs
}

// part is a list or map that can be the largest part of a spec or status.
type part struct {
	path  *field.Path
	value any
}

// validateParts checks the size of a spec or status; sizeAndParts returns the size and the largest parts. The error
// is at the largest part. A stored object above the limit, old, may be changed if its size, or the size of that part,
// does not grow.
func validateParts[T any](
	what string, limit int, value, old *T, path *field.Path, sizeAndParts func(*T) (int, []part),
) field.ErrorList {
	size, parts := sizeAndParts(value)
	if size <= limit {
		return nil
	}
	largest, largestSize := -1, 0
	for i := range parts {
		if partSize := jsonSize(parts[i].value); partSize > largestSize {
			largest, largestSize = i, partSize
		}
	}
	if largest >= 0 {
		path = parts[largest].path
	}
	if old != nil {
		oldSize, oldParts := sizeAndParts(old)
		isKept := largest >= 0 && largestSize <= jsonSize(oldParts[largest].value)
		if size <= oldSize || oldSize > limit && isKept {
			return nil
		}
	}
	err := field.TooLong(path, "", limit)
	err.Detail = fmt.Sprintf("%s may not be more than %d bytes as JSON: it has %d, %d of them here",
		what, limit, size, largestSize)
	return field.ErrorList{err}
}

// jsonSize returns the size of value as JSON, with the necessary escapes.
func jsonSize(value any) int {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return 0
	}
	return encoded.Len() - 1
}
