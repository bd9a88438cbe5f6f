package costlybodies

import (
	"bytes"
	"encoding/json"
	"strings"
)

// document is JSON that is read token by token.
type document struct {
	// within is set for JSON in a string, as in the annotation of v1alpha1.
	within bool
	// open are the lists and objects around the current token.
	open []container
	// references is the number of operations of a JSON patch on owner references.
	references int
}

// container is a list or an object.
type container struct {
	isObject bool
	// name is the member that it is the value of, or that an item of it is.
	name string
	// items is the number of items, or of members.
	items int
	// quantities is set if it is part of what has quantities, and operation if it is an operation of a JSON patch.
	quantities, operation bool
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
		d.open = d.open[:len(d.open)-1]
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
		if err := parent.count(); err != nil {
			return err
		}
		parent.named = false
	}
	switch value := token.(type) {
	case json.Delim:
		d.open = append(d.open, d.inside(parent, value == '{'))
	case json.Number:
		if parent != nil && parent.hasQuantity() {
			return checkQuantity(value.String())
		}
	case string:
		return d.text(parent, value)
	}
	return nil
}

// count adds an item, or a member.
func (c *container) count() error {
	c.items++
	switch {
	case c.items > maxItems:
		return tooMany("items of a list, and members of an object,", maxItems)
	case !c.isObject && strings.EqualFold(c.name, ownerReferences) && c.items > maxOwnerReferences:
		return tooMany("owner references", maxOwnerReferences)
	}
	return nil
}

// inside returns the container that begins.
func (d *document) inside(parent *container, isObject bool) container {
	c := container{isObject: isObject}
	if parent == nil {
		return c
	}
	c.name, c.quantities = parent.name, parent.hasQuantity()
	// Only a JSON patch is a list as a whole.
	c.operation = len(d.open) == 1 && !parent.isObject
	if parent.isObject {
		c.name = parent.member
	}
	return c
}

// hasQuantity reports whether the current member may be a quantity, or have some: that of resources, in any
// spelling that a decoder takes, and the value of an operation of a JSON patch, whose path may be anything.
func (c *container) hasQuantity() bool {
	return c.quantities || c.isObject && strings.EqualFold(c.member, "resources") || c.operation && c.member == "value"
}

func (d *document) text(parent *container, text string) error {
	if parent != nil && parent.hasQuantity() {
		if err := checkQuantity(text); err != nil {
			return err
		}
	}
	if parent != nil && parent.operation && parent.member == "path" && strings.Contains(text, ownerReferences) {
		if d.references++; d.references > maxOwnerReferences {
			return tooMany("operations on owner references", maxOwnerReferences)
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
