package bodies

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// longLists are the lists that may have more than maxListItems: two lists of valid Websites, which patches replace as a
// whole, and the value of a JSON patch operation, which is checked again at its path.
var longLists = []string{"redirects", "tolerations", "value"}

// document is JSON that is read byte by byte. It is JSON for all decoders, or the same for none.
type document struct {
	// isText is set for JSON in a string, as in the annotation of v1alpha1. Nothing merges or compares its lists.
	isText bool
	// open are the lists and objects around the current byte.
	open []container
	// items is the number of items and members so far.
	items int
}

// container is a list or an object.
type container struct {
	isObject bool
	// name is the member that it is the value of, or that an item of it is. member is the last member of an object.
	name, member []byte
	// items is the number of items, or of members, but the last.
	items int
	// quantities is set within a member of the spec that has quantities.
	quantities bool
}

func (d *document) check(body []byte) error {
	outside := len(d.open)
	for i := 0; i < len(body); {
		var err error
		end := i + 1
		switch c := body[i]; {
		case c == '{' || c == '[':
			err = d.begin(c == '{')
		case c == '}' || c == ']':
			if len(d.open) == outside {
				return nil
			}
			d.open = d.open[:len(d.open)-1]
		case c == ',':
			err = d.next()
		case c == '"':
			end = endOfString(body, end)
			err = d.text(body[i:end], body[end:])
		case c == '-' || '0' <= c && c <= '9':
			for end < len(body) && strings.IndexByte("+-.eE0123456789", body[end]) >= 0 {
				end++
			}
			err = d.quantity(body[i:end])
		}
		if err != nil {
			return err
		}
		i = end
	}
	return nil
}

// endOfString returns where a string ends whose first character is at i.
func endOfString(body []byte, i int) int {
	for ; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(body)
}

// begin opens a list or an object.
func (d *document) begin(isObject bool) error {
	if len(d.open) == maxNesting {
		return tooMany("lists and objects within each other", maxNesting)
	}
	inner := container{isObject: isObject}
	if len(d.open) > 0 {
		outer := &d.open[len(d.open)-1]
		inner.name, inner.quantities = outer.name, outer.hasQuantities()
		if outer.isObject {
			inner.name = outer.member
		}
	}
	d.open = append(d.open, inner)
	return d.count()
}

// next ends an item or a member, which another one follows.
func (d *document) next() error {
	if len(d.open) == 0 {
		return nil
	}
	c := &d.open[len(d.open)-1]
	c.items++
	if c.items >= maxListItems && !c.isObject && !d.isText && !slices.Contains(longLists, string(c.name)) {
		return tooMany("items of "+cmp.Or(string(c.name), "the list"), maxListItems)
	}
	return d.count()
}

func (d *document) count() error {
	if d.items++; d.items > maxItems {
		return tooMany("items of lists and members of objects, together,", maxItems)
	}
	return nil
}

// hasQuantities reports whether the current member has quantities.
func (c *container) hasQuantities() bool {
	isCostly := string(c.member) == resources || string(c.member) == storage
	return c.quantities || c.isObject && string(c.name) == "spec" && isCostly
}

// quantity checks a value that may be a quantity.
func (d *document) quantity(text []byte) error {
	if len(d.open) == 0 || !d.open[len(d.open)-1].hasQuantities() {
		return nil
	}
	return checkQuantity(text)
}

// text checks a string with its quotes, which is the name of a member or a value.
func (d *document) text(quoted, rest []byte) error {
	isName := bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":"))
	if isName && len(d.open) > 0 {
		d.open[len(d.open)-1].member = unquote(quoted)
		return nil
	}
	text := unquote(quoted)
	if err := d.quantity(text); err != nil || d.isText {
		return err
	}
	return checkText(text)
}

// checkText checks the JSON that text may be.
func checkText(text []byte) error {
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return nil
	}
	return (&document{isText: true}).check(text)
}

// unquote returns the text of a string, nothing if it is not one.
func unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return bytes.Trim(quoted, `"`)
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return nil
	}
	return []byte(text)
}
