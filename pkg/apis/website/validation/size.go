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
	// MaxBytes is the maximum size of a Website as it is stored, without its status: that of all annotations (256 KiB), of
	// the spec and of the small parts, and as much again as the latter for managed fields. API servers keep at least the
	// last hundred versions in memory. With the status, it is below the limit of a request to etcd (1.5 MiB).
	MaxBytes = 512 << 10
	// maxSpecBytes is the maximum size of a spec as JSON of v1beta1, as countedSpec has it. "kubectl apply" keeps the
	// manifest in an annotation, and all annotations together may have 256 KiB. The nginx configuration fits into a
	// ConfigMap (1 MiB).
	maxSpecBytes = 128 << 10
	// MaxStatusBytes is the maximum size of a status as JSON of v1beta1, as StatusSize counts it, and maxMessageBytes
	// that of the message of a condition.
	MaxStatusBytes, maxMessageBytes = 256 << 10, 4 << 10
	// maxSmallPartsBytes is the maximum size, as JSON, of labels, finalizers and owner
	// references together, and of scheduling and resources together. In memory, such
	// short elements take a multiple of it.
	maxSmallPartsBytes = 64 << 10
	// MaxOwnerReferences, MaxManagedFields, maxFinalizers and maxAnnotations are the maximum numbers of them: patches,
	// server-side apply and admission take time with the square of it.
	MaxOwnerReferences, MaxManagedFields, maxFinalizers, maxAnnotations = 128, 256, 128, 1000
	// maxEntryBytes is more than the entry of managed fields of a client that removes a finalizer.
	maxEntryBytes = 4 << 10
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
// creation, has as much. A client that removes a finalizer may add its entry of managed fields: an object that is
// stored can always be deleted.
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
	check("the Website, with the managed fields of all its field managers,", MaxBytes, addedBytes,
		field.NewPath("metadata"), func(w *website.Website) int {
			stored := *w
			stored.Status = website.WebsiteStatus{}
			return EncodedSize(&stored)
		})
	check("labels, finalizers and ownerReferences as JSON, together,", maxSmallPartsBytes, 0, field.NewPath("metadata"),
		func(w *website.Website) int {
			return jsonSize(w.Labels) + jsonSize(w.Finalizers) + jsonSize(w.OwnerReferences)
		})
	check("scheduling and resources as JSON, together,", maxSmallPartsBytes, 0, field.NewPath("spec"),
		func(w *website.Website) int {
			return jsonSize(w.Spec.Scheduling) + jsonSize(w.Spec.Resources)
		})
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

// validateSize checks the size of spec against that of old, which is nil on creation.
func validateSize(spec, old *website.WebsiteSpec, path *field.Path) field.ErrorList {
	parts := func(spec *website.WebsiteSpec) (int, []part) {
		counted := countedSpec(spec)
		return jsonSize(counted), []part{
			{path.Child("serving", "redirects"), counted.Serving.Redirects},
			{path.Child("serving", "headers"), counted.Serving.Headers},
			{path.Child("service", "annotations"), counted.Service.Annotations},
			{path.Child("scheduling", "nodeSelector"), counted.Scheduling.NodeSelector},
			{path.Child("scheduling", "tolerations"), counted.Scheduling.Tolerations},
		}
	}
	return validateParts("the spec", maxSpecBytes, spec, old, path, parts)
}

// countedSpec returns what is limited of a spec: without the default status codes of redirects, and without what is
// small, and changed when it has to be possible: a rollback, suspending and scaling.
func countedSpec(spec *website.WebsiteSpec) *v1beta1.WebsiteSpec {
	var counted v1beta1.WebsiteSpec
	if err := v1beta1.Convert_website_WebsiteSpec_To_v1beta1_WebsiteSpec(spec, &counted, nil); err != nil {
		return &v1beta1.WebsiteSpec{}
	}
	counted.Pin, counted.Suspend, counted.Replicas = nil, nil, nil
	// The conversion shares the list.
	counted.Serving.Redirects = slices.Clone(counted.Serving.Redirects)
	for i := range counted.Serving.Redirects {
		if redirect := &counted.Serving.Redirects[i]; redirect.StatusCode == defaultStatusCode {
			redirect.StatusCode = 0
		}
	}
	return &counted
}

// validateStatusSize checks the size of status against that of old.
func validateStatusSize(status, old *website.WebsiteStatus, path *field.Path) field.ErrorList {
	if StatusFits(betaStatus(status)) {
		return nil
	}
	parts := func(status *website.WebsiteStatus) (int, []part) {
		counted := betaStatus(status)
		return StatusSize(counted), []part{
			{path.Child("conditions"), counted.Conditions},
			{path.Child("hosts"), counted.Hosts},
			{path.Child("previews"), counted.Previews},
			{path.Child("history"), counted.History},
			{path.Child("urls"), counted.URLs},
		}
	}
	return validateParts("the status", MaxStatusBytes, status, old, path, parts)
}

// maxGrowth is more than the size of a status as JSON is times its size as protobuf.
const maxGrowth = 16

// StatusFits reports whether a status is within MaxStatusBytes. Most are by far: to encode each as JSON would take
// longer
// than to compute it.
func StatusFits(status *v1beta1.WebsiteStatus) bool {
	return maxGrowth*status.Size() <= MaxStatusBytes || StatusSize(status) <= MaxStatusBytes
}

// StatusSize is the size of a status as JSON, without sync: that is small, and a request to sync must not be rejected
// for the size of the rest.
func StatusSize(status *v1beta1.WebsiteStatus) int {
	counted := *status
	counted.Sync = nil
	return jsonSize(counted)
}

func betaStatus(status *website.WebsiteStatus) *v1beta1.WebsiteStatus {
	var beta v1beta1.WebsiteStatus
	if err := v1beta1.Convert_website_WebsiteStatus_To_v1beta1_WebsiteStatus(status, &beta, nil); err != nil {
		return &v1beta1.WebsiteStatus{}
	}
	return &beta
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

// part is a list or map that may take most of a spec or status.
type part struct {
	path  *field.Path
	value any
}

// validateParts checks the size of a spec or status, of which sizeAndParts returns the size and the largest parts. The
// error is at the part that takes most of it. One that was stored with more, which is old, may be changed if it does
// not grow, or if that part does not.
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
