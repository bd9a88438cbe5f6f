package podprobe

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// parseCommit reads the answer to /commit. A 503 of another server, such as a
// proxy, is not the pod's way of saying that it has no commit.
func parseCommit(code int, body []byte) (string, error) {
	text := strings.TrimSpace(string(body[:min(len(body), 100)]))
	switch {
	case code == http.StatusOK && resources.IsCommit(text):
		return text, nil
	case code == http.StatusServiceUnavailable && text == "no commit":
		return "", nil
	default:
		return "", fmt.Errorf("the pod answers /commit with status %d and neither a commit nor \"no commit\"", code)
	}
}

// isPathNotFound reads the answer to /startupz.
func isPathNotFound(code int, body []byte) bool {
	return code == http.StatusServiceUnavailable && strings.TrimSpace(string(body[:min(len(body), 100)])) == "path not found"
}
