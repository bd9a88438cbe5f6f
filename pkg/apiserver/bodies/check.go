// Package bodies bounds the time and memory of a write by its body: its length, its content, and the number of bytes of
// large Websites that are processed and kept at once. Nothing else in an API server does: priority and fairness counts
// requests and exempts administrators, and decoders, admission, patches and server-side apply take time with the square
// of the number of items.
//
// A body that is checked here takes less than a second of CPU and less than 96 MiB. No body of a valid
// Website is rejected: the limits are above the limits of a Website.
package bodies

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
)

const (
	// largestWebsite is the size of the largest Website that may be stored.
	largestWebsite = validation.MaxBytes + validation.MaxStatusBytes
	// MaxBytes is the length of a body: JSON is longer than the stored form, and the annotations of "kubectl apply"
	// and of v1alpha1 have JSON as text.
	MaxBytes = 2 * largestWebsite
	// MaxCopyBytes is the number of bytes that all copy operations of a JSON patch may copy. A patch makes a Website
	// larger by no more than its own length and this.
	MaxCopyBytes = minBytes
	// maxItems is the number of items of all lists and of members of all objects.
	maxItems = 20_000
	// maxListItems is the number of items of a list, without longLists. Validation of owner references and strategic
	// merge patches compare each item with all others, and each operation of a JSON patch may copy a list.
	maxListItems = 256
	// maxNesting is the depth of lists and objects: merge patches keep each level with all that is in it. Managed fields
	// of the conditions of a host have 11 levels, and 13 in a JSON patch of the whole Website.
	maxNesting = 14
)

// costlyQuantity is in quantities that take long to compute: those with an exponent of at least 30, which can be a
// number of gigabytes, and those with more than 24 digits. The maximum of a quantity, 2^63-1, has 19.
var costlyQuantity = regexp.MustCompile(`[eE][+-]?([0-9]{3}|[3-9][0-9])|[0-9.]{25}`)

// format is the encoding of a body. Protobuf is known by its first bytes.
type format int

const (
	asJSON format = iota
	// asYAML is JSON if that is valid.
	asYAML
	asJSONPatch
)

// check returns an error for the client if the body is too costly. A body that cannot be parsed is left to the
// decoder.
func check(body []byte, format format) error {
	switch {
	case bytes.HasPrefix(body, protobufMagic):
		return checkProtobuf(body[len(protobufMagic):])
	case format == asJSONPatch:
		return checkJSONPatch(body)
	case format == asYAML && !json.Valid(body):
		return checkYAML(body)
	}
	return (&document{}).check(body)
}

func tooMany(what string, limit int) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%s are limited to %d", what, limit))
}

func checkQuantity(text []byte) error {
	found := costlyQuantity.Find(text)
	if found == nil {
		return nil
	}
	return apierrors.NewBadRequest(fmt.Sprintf(
		"the quantity with %.80q has more digits than quantities may have: write it with a suffix, such as 100Mi", found))
}
