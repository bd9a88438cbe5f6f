package bodies

import (
	"fmt"
	"regexp"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"
)

// maxYAMLBytes is the length of YAML, which takes a hundred times as much to be parsed. The largest manifest has less.
const maxYAMLBytes = 256 << 10

// anchorOrAlias is in front of a name that aliases of the document repeat, or is an alias.
var anchorOrAlias = regexp.MustCompile(`[&*][0-9A-Za-z_-]+`)

// checkYAML checks a document that is not JSON. With aliases, a short document is a long one.
func checkYAML(body []byte) error {
	if len(body) > maxYAMLBytes {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("YAML is limited to %d bytes: send JSON", maxYAMLBytes))
	}
	if !utf8.Valid(body) {
		return apierrors.NewBadRequest("YAML must be UTF-8")
	}
	found := map[string]byte{}
	for _, name := range anchorOrAlias.FindAll(body, -1) {
		other, ok := found[string(name[1:])]
		if ok && other != name[0] {
			return apierrors.NewBadRequest(fmt.Sprintf(
				"YAML may not have aliases, such as of %.80q: repeat the value, or send JSON", name[1:]))
		}
		found[string(name[1:])] = name[0]
	}
	converted, err := yaml.YAMLToJSON(body)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("decoding the body of the request as YAML: %v", err))
	}
	return (&document{}).check(converted)
}
