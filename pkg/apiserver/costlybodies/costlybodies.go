// Package costlybodies refuses the bodies of requests that take the server out of proportion to their size, before
// they are decoded. Some of what decoders, admission, patches and server-side apply do grows with the square of the
// number of items, and a quantity of ten characters can be a number of gigabytes.
//
// No Website has such a body: the limits are far beyond what one may have.
package costlybodies

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
)

const (
	// maxItems is the number of items of a list, and of members of an object.
	maxItems = 10_000
	// maxOwnerReferences is the number of owner references. All are compared with each other, before they are validated.
	maxOwnerReferences = validation.MaxOwnerReferences
	// maxManagedFields is the number of entries of the managed fields, and maxManagedMembers that of the members in all
	// of them. Field managers merge the sets of entries one after the other, before they are validated: this takes time
	// with the product of both, about a second for as many as may be.
	maxManagedFields, maxManagedMembers = validation.MaxManagedFields, 20_000
	// maxMerged is the number of items of a list that a strategic merge patch merges, and of one that sets its order. Each
	// comparison of two items searches the list for them.
	maxMerged = 256
	// ownerReferences and managedFields are members of the metadata.
	ownerReferences, managedFields = "ownerReferences", "managedFields"
	// resources and storage are the members of the spec that have quantities.
	resources, storage = "resources", "storage"
)

// costlyQuantity is found in quantities that take long to compute: those with an exponent of three
// digits, and those with more digits than any amount has.
var costlyQuantity = regexp.MustCompile(`[eE][+-]?[0-9]{3}|[0-9.]{65}`)

// Format is how a body is decoded. Protobuf is known by what it begins with.
type Format int

const (
	// JSON is that of most requests, and of patches other than strategic merge patches.
	JSON Format = iota
	// YAML is decoded as JSON if it is that.
	YAML
	// StrategicMergePatch is JSON.
	StrategicMergePatch
)

// Check returns an error for the client if the body is too costly. What cannot be read is left to the decoder.
func Check(body []byte, format Format) error {
	switch {
	case bytes.HasPrefix(body, protobufMagic):
		return checkProtobuf(body[len(protobufMagic):])
	case format == YAML && !json.Valid(body):
		if err := checkAliases(body); err != nil {
			return err
		}
		converted, err := yaml.YAMLToJSON(body)
		if err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("decoding the body of the request as YAML: %v", err))
		}
		body = converted
	}
	return (&document{merges: format == StrategicMergePatch}).check(body)
}

func tooMany(what string, limit int) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%s are limited to %d", what, limit))
}

func checkQuantity(text string) error {
	found := costlyQuantity.FindStringIndex(text)
	if found == nil {
		return nil
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the quantity with %.80q has more digits than quantities may have: write it with a suffix, such as 100Mi", text[found[0]:found[1]]))
}
