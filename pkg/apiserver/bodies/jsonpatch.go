package bodies

import (
	"fmt"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// resources and storage are the members of a spec that have quantities.
const resources, storage = "resources", "storage"

// checked are the members of a Website with costly values. A JSON patch must not copy or move unchecked values there.
var checked = [][]string{{"spec", resources}, {"spec", storage}, {"metadata", "ownerReferences"}}

// checkJSONPatch checks each value where it is put.
func checkJSONPatch(patch []byte) error {
	if err := (&document{}).check(patch); err != nil {
		return err
	}
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil // The handler responds.
	}
	for _, operation := range operations {
		path, _ := operation.Path()
		from, _ := operation.From()
		switch kind := operation.Kind(); kind {
		case "copy", "move":
			if member := checkedMember(path, from); member != "" {
				return apierrors.NewBadRequest(fmt.Sprintf(
					"a JSON patch may not %s /%s, or what has it: add the value itself", kind, member))
			}
		default:
			if value := operation["value"]; value != nil {
				if err := checkAt(path, *value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// segments returns the segments of a JSON pointer (RFC 6901). The library ignores text in front of the first slash.
// None of the members that are checked has escaped characters.
func segments(pointer string) []string { return strings.Split(pointer, "/")[1:] }

// checkAt checks a value as a part of the object that a path leads to.
func checkAt(path string, value []byte) error {
	var d document
	for _, member := range segments(path) {
		if err := d.begin(true); err != nil {
			return err
		}
		d.open[len(d.open)-1].member = []byte(member)
	}
	return d.check(value)
}

// checkedMember returns the first of the checked members that one of the paths leads to, leads into, or contains.
func checkedMember(paths ...string) string {
	for _, path := range paths {
		path := segments(path)
		for _, member := range checked {
			n := min(len(path), len(member))
			if slices.Equal(path[:n], member[:n]) {
				return strings.Join(member, "/")
			}
		}
	}
	return ""
}
