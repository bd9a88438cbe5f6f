package costlybodies

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxMoves is the number of operations of a JSON patch that nest what there is: each level is encoded with all that
// is in it.
const maxMoves = 10

// pointer is a JSON pointer (RFC 6901) as its segments. None of those that are compared have escaped characters.
type pointer []string

// pointerOf takes what is in front of the first slash for nothing, as the library does that applies patches.
func pointerOf(text string) pointer { return strings.Split(text, "/")[1:] }

// isWithin reports whether a pointer leads to a member, or into it.
func (p pointer) isWithin(member ...string) bool {
	return len(p) >= len(member) && slices.Equal(p[:len(member)], member)
}

// contains reports whether a pointer leads to what has a member.
func (p pointer) contains(member ...string) bool {
	return len(p) < len(member) && slices.Equal(p, member[:len(p)])
}

var (
	toResources       = []string{"spec", resources}
	toStorage         = []string{"spec", storage}
	toOwnerReferences = []string{"metadata", ownerReferences}
	toManagedFields   = []string{"metadata", managedFields}
)

// operation is one of a JSON patch (RFC 6902). Its members come in any order, so whether its value is costly is known
// at its end only.
type operation struct {
	name       string
	path, from pointer
	// quantity is the error for what would be a costly quantity if it were one, and named that for one in a member
	// with the name of one that has quantities.
	quantity, named error
	// items is the number of items of the longest list in the value, and members that of the members of all objects.
	items, members int
}

// isOperation reports whether a container that is this deep is an operation, and no part of one.
func (c *container) isOperation(depth int) bool { return c.operation != nil && depth == 1 }

// set takes in a member that is no value. It reports false for others.
func (o *operation) set(member, text string) bool {
	switch member {
	case "op":
		o.name = text
	case "path":
		o.path = pointerOf(text)
	case "from":
		o.from = pointerOf(text)
	default:
		return false
	}
	return true
}

// endOperation checks a whole operation.
func (d *document) endOperation(o *operation) error {
	if max(len(o.path), len(o.from)) > maxNesting {
		return tooMany("segments of a path", maxNesting)
	}
	if o.name == "copy" || o.name == "move" {
		if d.moves++; d.moves > maxMoves {
			return tooMany("operations of a JSON patch that copy or move", maxMoves)
		}
		return o.checkMove()
	}
	switch {
	case o.path.isWithin(toResources...), o.path.isWithin(toStorage...):
		return o.quantity
	case o.named != nil && (o.path.contains(toResources...) || o.path.contains(toStorage...)):
		return o.named
	case o.path.isWithin(toOwnerReferences...):
		if d.references++; d.references > maxOwnerReferences || o.items > maxOwnerReferences {
			return tooMany("owner references, and operations on them,", maxOwnerReferences)
		}
	case o.path.isWithin(toManagedFields...):
		if d.entries++; d.entries > maxManagedFields || o.items > maxManagedFields {
			return tooMany("entries of the managed fields, and operations on them,", maxManagedFields)
		}
		return d.addManaged(o.members)
	}
	return nil
}

// checkMove has what was not checked stay where it is not costly.
func (o *operation) checkMove() error {
	for _, p := range []pointer{o.path, o.from} {
		for _, member := range [][]string{toResources, toStorage, toOwnerReferences, toManagedFields} {
			if p.isWithin(member...) || p.contains(member...) {
				return apierrors.NewBadRequest(fmt.Sprintf("a JSON patch may not %s /%s, or what has it: add the value itself", o.name, strings.Join(member, "/")))
			}
		}
	}
	return nil
}
