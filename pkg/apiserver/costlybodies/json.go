package costlybodies

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// maxNesting is deeper than any Website is nested, also its managed fields. What applies patches keeps each level with
// all that is in it.
const maxNesting = 32

// document is JSON that is read token by token.
type document struct {
	// within is set for JSON in a string, as in the annotation of v1alpha1.
	within bool
	// inManaged is set for JSON that is part of managed fields.
	inManaged bool
	// merges is set for a strategic merge patch.
	merges bool
	// open are the lists and objects around the current token.
	open []container
	// references, entries and moves are the numbers of operations of a JSON patch on owner references, on managed
	// fields, and of those that copy or move.
	references, entries, moves int
	// managed is the number of members in managed fields.
	managed int
}

// container is a list or an object.
type container struct {
	isObject bool
	// name is the member that it is the value of, or that an item of it is.
	name string
	// items is the number of items, or of members.
	items int
	// quantities is set if it is part of what has quantities.
	quantities bool
	// managed is set if it is part of managed fields.
	managed bool
	// operation is that of a JSON patch which it is, or which it is a part of.
	operation *operation
	// member is the name of the last member of an object, and named is set until its value begins.
	member string
	named  bool
}

func (d *document) check(body []byte) error {
	tokens := json.NewDecoder(bytes.NewReader(body))
	tokens.UseNumber()
	for {
		token, err := tokens.Token()
		if err != nil {
			return nil // It has ended, or the decoder refuses it.
		}
		if err := d.add(token); err != nil {
			return err
		}
	}
}

// add follows the next token.
func (d *document) add(token json.Token) error {
	if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
		last := d.open[len(d.open)-1]
		d.open = d.open[:len(d.open)-1]
		if last.isOperation(len(d.open)) {
			return d.endOperation(last.operation)
		}
		return nil
	}
	var parent *container
	if len(d.open) > 0 {
		parent = &d.open[len(d.open)-1]
	}
	if text, ok := token.(string); ok && parent != nil && parent.isObject && !parent.named {
		parent.member, parent.named = text, true
		return nil
	}
	if parent != nil {
		if err := d.count(parent); err != nil {
			return err
		}
		parent.named = false
	}
	switch value := token.(type) {
	case json.Delim:
		if len(d.open) == maxNesting {
			return tooMany("lists and objects within each other", maxNesting)
		}
		d.open = append(d.open, d.inside(parent, value == '{'))
	case json.Number:
		if parent != nil {
			return parent.quantity(value.String())
		}
	case string:
		return d.text(parent, value)
	}
	return nil
}

// count adds an item, or a member.
func (d *document) count(c *container) error {
	c.items++
	switch {
	case c.items > maxItems:
		return tooMany("items of a list, and members of an object,", maxItems)
	case c.isObject:
		if c.operation != nil {
			c.operation.members++
		}
		if c.managed {
			return d.addManaged(1)
		}
		return nil
	case c.name == ownerReferences && c.items > maxOwnerReferences:
		return tooMany("owner references", maxOwnerReferences)
	case c.name == managedFields && c.items > maxManagedFields:
		return tooMany("entries of the managed fields", maxManagedFields)
	case d.merges && isMerged(c.name) && c.items > maxMerged:
		return tooMany(fmt.Sprintf("items of %.80q in a strategic merge patch", c.name), maxMerged)
	case c.operation != nil:
		c.operation.items = max(c.operation.items, c.items)
	}
	return nil
}

// addManaged adds members of managed fields.
func (d *document) addManaged(members int) error {
	if d.managed += members; d.managed > maxManagedMembers {
		return tooMany("members of the managed fields", maxManagedMembers)
	}
	return nil
}

// isMerged reports whether a strategic merge patch merges the list of that name, or sets the order of one. Owner
// references, which it merges as well, have a lower limit.
func isMerged(name string) bool {
	return name == "finalizers" || name == "hosts" || name == "conditions" || strings.HasPrefix(name, "$setElementOrder/")
}

// inside returns the container that begins.
func (d *document) inside(parent *container, isObject bool) container {
	c := container{isObject: isObject}
	switch {
	case parent == nil:
		c.managed = d.inManaged
		return c
	case len(d.open) == 1 && !parent.isObject:
		// Only a JSON patch is a list as a whole.
		c.operation = &operation{}
	default:
		c.operation = parent.operation
	}
	c.name, c.quantities = parent.name, parent.hasQuantities()
	if parent.isObject {
		c.name = parent.member
	}
	c.managed = parent.managed || c.name == managedFields
	return c
}

// hasQuantities reports whether the current member has quantities: that of the spec and, in a JSON patch, which may
// make it the spec's, anything of that name.
func (c *container) hasQuantities() bool {
	return c.quantities || c.isObject && (c.member == resources || c.member == storage) && (c.name == "spec" || c.operation != nil)
}

// quantity checks what may be a quantity.
func (c *container) quantity(text string) error {
	if c.operation == nil {
		if c.hasQuantities() {
			return checkQuantity(text)
		}
		return nil
	}
	if err := checkQuantity(text); err != nil {
		c.operation.quantity = err
		if c.hasQuantities() {
			c.operation.named = err
		}
	}
	return nil
}

func (d *document) text(parent *container, text string) error {
	if parent != nil {
		if parent.isOperation(len(d.open)-1) && parent.operation.set(parent.member, text) {
			return nil
		}
		if err := parent.quantity(text); err != nil {
			return err
		}
	}
	if d.within {
		return nil
	}
	return checkText(text)
}

// checkText checks the JSON that text may be.
func checkText(text string) error {
	if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		return nil
	}
	return (&document{within: true}).check([]byte(text))
}
