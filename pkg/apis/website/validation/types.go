package validation

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/urlpaths"
)

var (
	fileExtension = regexp.MustCompile(`^[A-Za-z0-9_+-]+$`)
	// mediaType is a type and subtype of RFC 6838, section 4.2, without '$', and a charset parameter.
	mediaType = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9!#&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#&^_.+-]{0,126}` +
		`(?:; ?charset=([A-Za-z0-9_-]+))?$`)
)

// maxCharset, maxExtension and maxType are the lengths that the types declare, which reject longer values.
const maxCharset, maxExtension, maxType = 32, 64, 255

// charsets are the names of encodings in the WHATWG Encoding Standard, and ISO-8859-1, which browsers decode as
// windows-1252.
var charsets = []string{
	"UTF-8", "Big5", "EUC-JP", "EUC-KR", "GBK", "IBM866", "ISO-2022-JP", "ISO-8859-1", "ISO-8859-2", "ISO-8859-3",
	"ISO-8859-4", "ISO-8859-5", "ISO-8859-6", "ISO-8859-7", "ISO-8859-8", "ISO-8859-8-I", "ISO-8859-10", "ISO-8859-13",
	"ISO-8859-14", "ISO-8859-15", "ISO-8859-16", "KOI8-R", "KOI8-U", "Shift_JIS", "UTF-16BE", "UTF-16LE", "gb18030",
	"macintosh", "windows-874", "windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254",
	"windows-1255", "windows-1256", "windows-1257", "windows-1258", "x-mac-cyrillic",
}

func isCharset(name string) bool {
	return slices.ContainsFunc(charsets, func(charset string) bool { return strings.EqualFold(charset, name) })
}

// validateTypes checks the types that are not in old, and that no two are for the same path or extension.
func validateTypes(types, old []v1beta1.ContentType, path *field.Path) field.ErrorList {
	if slices.Equal(types, old) {
		return nil
	}
	var errs field.ErrorList
	kept := sets.New(old...)
	paths, extensions := sets.New[urlpaths.Pattern](), sets.New[string]()
	for i, contentType := range types {
		at := path.Index(i)
		if pattern, err := urlpaths.Parse(contentType.Path); err == nil {
			if paths.Has(pattern) {
				errs = append(errs, field.Duplicate(at.Child("path"), contentType.Path))
				continue
			}
			paths.Insert(pattern)
		}
		if extension := strings.ToLower(contentType.Extension); extension != "" {
			if extensions.Has(extension) {
				errs = append(errs, field.Duplicate(at.Child("extension"), contentType.Extension))
				continue
			}
			extensions.Insert(extension)
		}
		if !kept.Has(contentType) {
			errs = append(errs, validateType(&contentType, at)...)
		}
	}
	return errs
}

func validateType(contentType *v1beta1.ContentType, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p := contentType.Path; p != "" && !isTooLong(p) {
		switch pattern, err := urlpaths.Parse(p); {
		case err != nil:
			errs = append(errs, field.Invalid(path.Child("path"), p, err.Error()))
		case !pattern.Prefix && strings.HasSuffix(pattern.Path, "/"):
			errs = append(errs, field.Invalid(path.Child("path"), p, "must be the path of a file, or end in '/*'"))
		}
	}
	if e := contentType.Extension; e != "" && len(e) <= maxExtension && !fileExtension.MatchString(e) {
		errs = append(errs, field.Invalid(path.Child("extension"), e,
			"must consist of letters, digits, '_', '+' and '-': the part after the last dot of a name, without that dot"))
	}
	if t := contentType.Type; t != "" && len(t) <= maxType {
		at := path.Child("type")
		switch parts := mediaType.FindStringSubmatch(t); {
		case parts == nil:
			errs = append(errs, field.Invalid(at, t,
				"must be a media type such as application/json, and may have a charset parameter: '; charset=utf-8'"))
		case parts[1] != "" && !isCharset(parts[1]):
			errs = append(errs, field.NotSupported(at, parts[1], charsets))
		}
	}
	return errs
}
