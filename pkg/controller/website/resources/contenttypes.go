package resources

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/urlpaths"
)

// mimeTypes are the types by extension, which hack/mime-db selects from mime-db.
//
//go:embed mime.types
var mimeTypes string

// compressedPicture is a type that nginx does not compress again, which it would without the space.
// Clients ignore the space.
const compressedPicture = "image/svg+xml "

// wellKnownJSON are the names of files without an extension below /.well-known/ that are JSON.
const wellKnownJSON = `
	apple-app-site-association http-opportunistic jwks matrix/client matrix/server matrix/support nodeinfo
	oauth-authorization-server oauth-protected-resource openid-configuration openid-credential-issuer passkey-endpoints
	smart-configuration uma2-configuration webauthn`

// wellKnownTypes are the types of files without an extension below /.well-known/.
var wellKnownTypes = sync.OnceValue(func() map[string]string {
	types := map[string]string{"host-meta": "application/xrd+xml", "webfinger": "application/jrd+json"}
	for _, name := range strings.Fields(wellKnownJSON) {
		types[name] = "application/json"
	}
	return types
})

// defaultTypes are the types by extension.
var defaultTypes = sync.OnceValue(func() map[string]string {
	types := map[string]string{"svgz": compressedPicture}
	for line := range strings.Lines(mimeTypes) {
		fields := strings.Fields(strings.TrimSuffix(strings.TrimSpace(line), ";"))
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		for _, extension := range fields[1:] {
			types[extension] = fields[0]
		}
	}
	return types
})

// contentTypes are spec.serving.types and charset in the syntax of nginx.
type contentTypes struct {
	// ByExtension are the types of a site by lower-case extension.
	ByExtension map[string]string
	// ByPath maps paths to named locations, each with its own type.
	ByPath []typedPath
	// Locations are the types of these locations, quoted.
	Locations []string
	// OfSite says that ByPath has rules of the site, not only well-known paths.
	OfSite bool
	// Charset is the charset parameter, or "off".
	Charset string
}

// typedPath is a path with another type than its extension has.
type typedPath struct {
	// Pattern matches the path, in the form of nginx's map.
	Pattern string
	// Location is the index of its location.
	Location int
	// Compressed is true if nginx compresses the type.
	Compressed bool
}

// typesOf is a type with its extensions.
type typesOf struct{ Type, Extensions string }

var (
	typeOfFiles = regexp.MustCompile(`^[A-Za-z0-9!#&^_.+-]+/[A-Za-z0-9!#&^_.+-]+(?:; ?charset=[A-Za-z0-9_-]+)?$`)
	extensionOf = regexp.MustCompile(`^[a-z0-9_+-]+$`)
	charsetName = regexp.MustCompile(`^[a-z0-9_-]+$`)
)

// contentTypes returns the content types for the template.
func (q *quoter) contentTypes(wanted v1beta1.WebsiteServing) contentTypes {
	c := contentTypes{ByExtension: map[string]string{}, Charset: "utf-8"}
	if wanted.Charset == v1beta1.CharsetNone {
		c.Charset = "off"
	} else if wanted.Charset != "" {
		c.Charset = strings.ToLower(wanted.Charset)
	}
	if !charsetName.MatchString(c.Charset) {
		q.fail(fmt.Errorf("spec.serving.charset %q contains characters other than letters, digits, '_' and '-'", c.Charset))
	}
	types := map[urlpaths.Pattern]string{}
	for _, t := range wanted.Types {
		if !typeOfFiles.MatchString(t.Type) {
			q.fail(fmt.Errorf("the type %q in spec.serving.types is no media type", t.Type))
		}
		if t.Extension == "" {
			paths, err := urlpaths.Parse(t.Path)
			if err != nil {
				q.fail(fmt.Errorf("the path %q in spec.serving.types %w", t.Path, err))
			}
			types[paths], c.OfSite = t.Type, true
			continue
		}
		extension := strings.ToLower(t.Extension)
		if !extensionOf.MatchString(extension) {
			q.fail(fmt.Errorf("the extension %q in spec.serving.types is none", t.Extension))
		}
		c.ByExtension[extension] = t.Type
	}
	patterns := slices.SortedFunc(maps.Keys(types), func(a, b urlpaths.Pattern) int {
		if order := urlpaths.BySpecificity(a, b); order != 0 {
			return order
		}
		return strings.Compare(a.Path, b.Path)
	})
	for _, paths := range patterns {
		c.add(q, q.pattern("a path in spec.serving.types", paths), types[paths])
	}
	for _, name := range slices.Sorted(maps.Keys(wellKnownTypes())) {
		path := wellKnown + name
		// nginx compares the words of a map before its patterns.
		if !slices.ContainsFunc(patterns, func(p urlpaths.Pattern) bool { return p.Matches(path) }) {
			c.add(q, path, wellKnownTypes()[name])
		}
	}
	return c
}

// wellKnown is the directory of RFC 8615.
const wellKnown = "/.well-known/"

// add adds a path, and a location for its type unless there is one.
func (c *contentTypes) add(q *quoter, pattern, contentType string) {
	quoted := q.quote("a type in spec.serving.types", contentType)
	location := slices.Index(c.Locations, quoted)
	if location < 0 {
		location = len(c.Locations)
		c.Locations = append(c.Locations, quoted)
	}
	c.ByPath = append(c.ByPath, typedPath{pattern, location, isCompressed(contentType)})
}

// types are the types by extension.
func (c contentTypes) types() map[string]string {
	types := maps.Clone(defaultTypes())
	maps.Copy(types, c.ByExtension)
	return types
}

// Types are the types with their extensions.
func (c contentTypes) Types() []typesOf {
	extensions := map[string][]string{}
	for extension, contentType := range c.types() {
		extensions[contentType] = append(extensions[contentType], extension)
	}
	var all []typesOf
	for _, contentType := range slices.Sorted(maps.Keys(extensions)) {
		slices.Sort(extensions[contentType])
		all = append(all, typesOf{word(contentType), strings.Join(extensions[contentType], " ")})
	}
	return all
}

// word quotes a type where nginx requires it.
func word(contentType string) string {
	if bareWord.MatchString(strings.ReplaceAll(contentType, "+", "")) {
		return contentType
	}
	return `"` + contentType + `"`
}

// Compressed are the types that nginx compresses.
func (c contentTypes) Compressed() string { return c.among(isCompressed) }

// WithCharset are the types to which nginx adds the charset parameter.
func (c contentTypes) WithCharset() string {
	return c.among(func(contentType string) bool {
		isJSON := contentType == "application/json" || strings.HasSuffix(contentType, "+json")
		return strings.HasPrefix(contentType, "text/") && contentType != "text/xml" && !strings.Contains(contentType, ";") ||
			isJSON && c.Charset == "utf-8"
	})
}

// among lists types, without text/html, which nginx always includes.
func (c contentTypes) among(include func(contentType string) bool) string {
	types := slices.Collect(maps.Values(c.types()))
	for _, quoted := range c.Locations {
		types = append(types, strings.Trim(quoted, `"`))
	}
	slices.Sort(types)
	var words []string
	for _, contentType := range slices.Compact(types) {
		if include(contentType) && contentType != "text/html" {
			words = append(words, word(contentType))
		}
	}
	return strings.Join(words, " ")
}

// CompressedExtensions are the extensions of the types that nginx compresses.
func (c contentTypes) CompressedExtensions() []string {
	var extensions []string
	for extension, contentType := range c.types() {
		if isCompressed(contentType) {
			extensions = append(extensions, extension)
		}
	}
	slices.Sort(extensions)
	return extensions
}

// compressedTypes are text formats, and others that gzip makes smaller. Most formats are compressed
// already.
var compressedTypes = strings.Fields(`
	application/hjson application/javascript application/json application/json5 application/jsonl application/n-quads
	application/n-triples application/rtf application/sql application/toml application/trig application/vnd.apple.mpegurl
	application/vnd.ms-fontobject application/wasm application/x-ndjson application/x-sh application/x-subrip
	application/xml application/xml-dtd application/yaml font/otf font/ttf image/bmp image/x-icon model/mtl model/obj`)

func isCompressed(contentType string) bool {
	contentType, _, _ = strings.Cut(contentType, ";")
	return strings.HasPrefix(contentType, "text/") || strings.HasSuffix(contentType, "+json") ||
		strings.HasSuffix(contentType, "+xml") || slices.Contains(compressedTypes, contentType)
}
