package costlybodies

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// operation is one of a JSON patch (RFC 6902). Its members come in any order, so that its value is costly is known
// at its end only.
type operation struct {
	name, path, from string
	// quantity is the error for what would be a costly quantity, if the path is that of a quantity.
	quantity error
	// items is the number of items of the longest list in the value.
	items int
}

// isOperation reports whether a container that is this deep is an operation, and no part of one.
func (c *container) isOperation(depth int) bool { return c.operation != nil && depth == 1 }

func (o *operation) set(member, text string) {
	switch member {
	case "op":
		o.name = text
	case "path":
		o.path = text
	case "from":
		o.from = text
	}
}

// endOperation checks a whole operation.
func (d *document) endOperation(o *operation) error {
	if strings.Contains(o.path, resources) {
		if o.quantity != nil {
			return o.quantity
		}
		if err := o.checkSource(resources, "/spec/"+resources); err != nil {
			return err
		}
	}
	if strings.Contains(o.path, ownerReferences) {
		if d.references++; d.references > maxOwnerReferences || o.items > maxOwnerReferences {
			return tooMany("owner references, and operations on them,", maxOwnerReferences)
		}
		return o.checkSource(ownerReferences, "/metadata/"+ownerReferences)
	}
	return nil
}

// checkSource has what was not checked stay where it is not costly: outside of a member that may only take what has
// been part of it.
func (o *operation) checkSource(member, source string) error {
	if o.name != "copy" && o.name != "move" || o.from == source || strings.HasPrefix(o.from, source+"/") {
		return nil
	}
	return apierrors.NewBadRequest(fmt.Sprintf("a JSON patch may %s to %s only what comes from %s: add the value itself to %q", o.name, member, source, o.path))
}
