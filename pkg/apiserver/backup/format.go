package backup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"regexp"
	"strconv"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// An export is a sequence of YAML documents, one for each Website, in v1beta1. A comment
// at its end marks it as complete.

const separator = "---\n"

// ending matches the last line. The SHA-256 covers all lines before; users remove it
// from an edited file.
var ending = regexp.MustCompile(`^# end: (\d+) Websites(?:, sha256 ([0-9a-f]{64}))?\n?$`)

// writer writes an export.
type writer struct {
	out      *bufio.Writer
	hash     hash.Hash
	encoder  runtime.Encoder
	websites int
}

func newWriter(out io.Writer, scheme *runtime.Scheme) *writer {
	h := sha256.New()
	serializer := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{})
	return &writer{
		out:     bufio.NewWriter(io.MultiWriter(out, h)),
		hash:    h,
		encoder: strictCodecs(scheme).EncoderForVersion(serializer, v1beta1.SchemeGroupVersion),
	}
}

func (w *writer) comment(format string, args ...any) error {
	_, err := fmt.Fprintf(w.out, "# "+format+"\n", args...)
	return err
}

// add writes a Website without the fields that belong to its store.
func (w *writer) add(obj *website.Website) error {
	obj.ResourceVersion = ""
	encoded, err := runtime.Encode(w.encoder, obj)
	if err != nil {
		return fmt.Errorf("encoding the Website %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	document, err := yaml.JSONToYAML(withoutUnprintable(encoded))
	if err != nil {
		return fmt.Errorf("encoding the Website %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	w.websites++
	_, err = w.out.Write(append([]byte(separator), document...))
	return err
}

// withoutUnprintable escapes characters that JSON may have in strings, and YAML may not, or takes for the end of
// a line.
func withoutUnprintable(encoded []byte) []byte {
	var escaped []byte
	for _, r := range string(encoded) {
		switch {
		case r >= 0x7f && r <= 0x9f, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		default:
			escaped = utf8.AppendRune(escaped, r)
		}
	}
	return escaped
}

// end writes the last line.
func (w *writer) end() error {
	if err := w.out.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w.out, "# end: %d Websites, sha256 %x\n", w.websites, w.hash.Sum(nil)); err != nil {
		return err
	}
	return w.out.Flush()
}

// reader reads an export.
type reader struct {
	decoder runtime.Decoder
	name    string
}

func newReader(name string, scheme *runtime.Scheme) reader {
	return reader{decoder: strictCodecs(scheme).UniversalDecoder(website.SchemeGroupVersion), name: name}
}

// each calls visit with every Website, and the line at which it begins. It returns an
// error for an incomplete or damaged file, but only after all Websites were visited.
func (r reader) each(ctx context.Context, in io.Reader, visit func(line int, obj *website.Website) error) error {
	lines, sum := bufio.NewReader(in), sha256.New()
	var document bytes.Buffer
	websites, number, begin := 0, 0, 1
	finish := func() error {
		defer document.Reset()
		if !hasContent(document.Bytes()) {
			return nil
		}
		obj, err := r.decode(document.Bytes())
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", r.name, begin, err)
		}
		websites++
		return visit(begin, obj)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("reading %s: %w", r.name, err)
		}
		number++
		if match := ending.FindSubmatch(line); match != nil {
			if err := finish(); err != nil {
				return err
			}
			return r.complete(lines, match, websites, sum.Sum(nil))
		}
		if err != nil {
			return fmt.Errorf("%s is truncated: its last line must be \"# end: %d Websites\", with the number of Websites "+
				"that it is to have", r.name, websites)
		}
		_, _ = sum.Write(line)
		if string(line) == separator {
			if err := finish(); err != nil {
				return err
			}
			begin = number + 1
			continue
		}
		_, _ = document.Write(line)
	}
}

// complete checks the last line.
func (r reader) complete(rest io.Reader, match [][]byte, websites int, sum []byte) error {
	if n, _ := io.Copy(io.Discard, rest); n > 0 {
		return fmt.Errorf("%s continues after its end: it must hold one export", r.name)
	}
	if want, err := strconv.Atoi(string(match[1])); err != nil || want != websites {
		return fmt.Errorf("%s has %d Websites, and according to its last line %s: it is damaged, or was edited; if you "+
			"edited it, correct the last line", r.name, websites, match[1])
	}
	if want := string(match[2]); want != "" && want != hex.EncodeToString(sum) {
		return fmt.Errorf("%s is damaged, or was edited: its SHA-256 is %x, and according to its last line %s; if you "+
			"edited it, remove \", sha256 ...\" from the last line", r.name, sum, want)
	}
	return nil
}

func (r reader) decode(document []byte) (*website.Website, error) {
	encoded, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, fmt.Errorf("reading YAML: %w", err)
	}
	obj, kind, err := r.decoder.Decode(encoded, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decoding a Website: %w", err)
	}
	w, ok := obj.(*website.Website)
	if !ok {
		return nil, fmt.Errorf("has a %s, want a Website", kind.Kind)
	}
	return w, nil
}

// hasContent reports whether a document has anything but comments.
func hasContent(document []byte) bool {
	for line := range bytes.Lines(document) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return true
		}
	}
	return false
}
