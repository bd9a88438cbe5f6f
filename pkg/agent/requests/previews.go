package requests

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// PreviewsFile has the Previews. Without it, branches are not listed.
const PreviewsFile = "previews.json"

// Previews selects the branches of the repository that an agent reports.
type Previews struct {
	// Branches are patterns of their names.
	Branches []string `json:"branches"`
	// Head is true if the branch of the remote's HEAD is to be reported as well.
	Head bool `json:"head,omitempty"`
}

// String encodes Previews for PreviewsFile.
func (p Previews) String() string {
	// A struct of strings is always encoded.
	data, _ := json.Marshal(p)
	return string(data)
}

// ParsePreviews decodes what String has encoded.
func ParsePreviews(data []byte) (Previews, error) {
	var previews Previews
	if err := json.Unmarshal(data, &previews); err != nil {
		return Previews{}, fmt.Errorf("decoding which branches to list: %w", err)
	}
	return previews, nil
}

// ID identifies a list of branches of a repository. An agent can have another repository, or
// other patterns, than the spec until it is replaced, or has read its file again.
func (p Previews) ID(repository string) string {
	sum := sha256.Sum256([]byte(repository + "\n" + p.String()))
	return hex.EncodeToString(sum[:16])
}
