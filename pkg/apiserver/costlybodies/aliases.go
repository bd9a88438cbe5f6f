package largewrites

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// isYAML reports whether the body is YAML, as that of server-side apply.
func isYAML(r *http.Request) bool {
	name := mediaType(r)
	return name == runtime.ContentTypeYAML || name == string(types.ApplyYAMLPatchType)
}

// withShortYAML returns a request that holds no Website, such as a deletion with its options, with its body if that
// is YAML. It refuses a long one: the decoder reads all of it, aliases as well, before it looks for options.
func withShortYAML(r *http.Request) (*http.Request, error) {
	if !isYAML(r) {
		return r, nil
	}
	read, body, err := withBody(r, minBytes)
	if err != nil {
		return r, err
	}
	return read, checkAliases(read, body)
}

// checkAliases refuses a document that its aliases make large: what it says once, it means often, so its
// length would say nothing of what it takes. Without aliases, a document is returned to the decoder unread.
func checkAliases(r *http.Request, body []byte) error {
	// What kubectl applies is JSON, with this media type.
	if !isYAML(r) || !bytes.ContainsRune(body, '&') || !bytes.ContainsRune(body, '*') || json.Valid(body) {
		return nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal(body, &document); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("decoding the body of the request as YAML: %v", err))
	}
	e := expansion{sizes: map[*yaml.Node]int{}}
	if size := e.size(&document); e.aliased && size > minBytes {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("aliases are limited to YAML documents that have no more than %d bytes when each alias is replaced by its value", minBytes))
	}
	return nil
}

// expansion measures documents with each alias replaced by its value.
type expansion struct {
	sizes   map[*yaml.Node]int
	aliased bool
}

// size returns about how many bytes a node takes, and no more than one beyond minBytes.
func (e *expansion) size(node *yaml.Node) int {
	if size, known := e.sizes[node]; known {
		return size
	}
	// Until it is known, as one that contains itself never ends.
	e.sizes[node] = minBytes + 1
	size := len(node.Value) + 1
	if node.Kind == yaml.AliasNode {
		e.aliased = true
		size = e.size(node.Alias)
	}
	for _, part := range node.Content {
		// All are visited, to find the aliases.
		size = min(size+e.size(part), minBytes+1)
	}
	size = min(size, minBytes+1)
	e.sizes[node] = size
	return size
}
