package requests

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The files that the controller gives an agent. They change without a restart of the pod.
const (
	// KeysFile has the public keys.
	KeysFile = "keys.json"
	// PinFile has the Pin.
	PinFile = "pin.json"
)

// PinCurrent in the place of a commit has an agent keep the served release, and publish nothing.
const PinCurrent = "current"

// Pin names the commit that an agent serves.
type Pin struct {
	// Commit is the commit to serve, PinCurrent, or empty for the last one that was fetched.
	Commit string `json:"commit"`
	// Generation is the generation of the Website with this pin. The last one is valid.
	Generation int64 `json:"generation"`
}

// IsCommit reports whether a name is a full commit hash.
func IsCommit(name string) bool {
	return (len(name) == 40 || len(name) == 64) && strings.Trim(name, "0123456789abcdef") == ""
}

// IsPin reports whether a value may be the commit of a Pin.
func IsPin(commit string) bool { return commit == "" || commit == PinCurrent || IsCommit(commit) }

// String encodes a Pin for PinFile.
func (p Pin) String() string {
	return fmt.Sprintf(`{"commit":%q,"generation":%d}`, p.Commit, p.Generation)
}

// ParsePin decodes what String has encoded.
func ParsePin(data []byte) (Pin, error) {
	var pin Pin
	if err := json.Unmarshal(data, &pin); err != nil {
		return Pin{}, fmt.Errorf("decoding the pin: %w", err)
	}
	if !IsPin(pin.Commit) {
		return Pin{}, fmt.Errorf("the pin %q is neither a full commit hash nor %q", pin.Commit, PinCurrent)
	}
	return pin, nil
}
