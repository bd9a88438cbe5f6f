// Package bodies bounds the time and memory of a write by its body: its length, its content, and the number of bytes of
// large Websites that are processed and kept at once. Nothing else in an API server does: priority and fairness counts
// requests and exempts administrators, and decoders, admission, patches and server-side apply take time with the square
// of the number of items.
//
// A body that is checked here takes less than a second of CPU and less than 64 MiB. No body of a valid
// Website is rejected: the limits are far above the limits of a Website.
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
	// maxNesting is the depth of lists and objects: patches keep each level with all that is in it.
	maxNesting = 32
)

// costlyQuantity is in quantities that take long to compute: those with an exponent of three digits, which can be a
// number of gigabytes, and those with more digits than any amount has.
var costlyQuantity = regexp.MustCompile(`[eE][+-]?[0-9]{3}|[0-9.]{65}`)

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
