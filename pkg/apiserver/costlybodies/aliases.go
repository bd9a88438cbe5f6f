package costlybodies

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxExpanded is the most that a document with aliases may mean, in bytes.
const maxExpanded = 8 << 10

// checkAliases refuses a document that its aliases make large: what it says once, it means often, so its
// length would say nothing of what it takes. Without aliases, a document is not read here.
func checkAliases(body []byte) error {
	if !bytes.ContainsRune(body, '&') || !bytes.ContainsRune(body, '*') {
		return nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal(body, &document); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("decoding the body of the request as YAML: %v", err))
	}
	e := expansion{sizes: map[*yaml.Node]int{}}
	if size := e.size(&document); e.aliased && size > maxExpanded {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("aliases are limited to YAML documents that have no more than %d bytes when each alias is replaced by its value", maxExpanded))
	}
	return nil
}

// expansion measures documents with each alias replaced by its value.
type expansion struct {
	sizes   map[*yaml.Node]int
	aliased bool
}

// size returns about how many bytes a node takes, and no more than one beyond maxExpanded.
func (e *expansion) size(node *yaml.Node) int {
	if size, known := e.sizes[node]; known {
		return size
	}
	// Until it is known, as one that contains itself never ends.
	e.sizes[node] = maxExpanded + 1
	size := len(node.Value) + 1
	if node.Kind == yaml.AliasNode {
		e.aliased = true
		size = e.size(node.Alias)
	}
	for _, part := range node.Content {
		// All are visited, to find the aliases.
		size = min(size+e.size(part), maxExpanded+1)
	}
	size = min(size, maxExpanded+1)
	e.sizes[node] = size
	return size
}
