package app

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		resource, want string
		fails          bool
	}{
		"served":                 {resource: "websites", want: "mycontroller.nevermosby.io/v1beta1 is served\n"},
		"another API":            {resource: "others", want: "v1alpha1 has no Websites", fails: true},
		"no answer of the group": {want: "v1alpha1 is not served", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if test.resource == "" {
					http.Error(w, "no server", http.StatusServiceUnavailable)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[{"name":%q,`+
					`"kind":"Website"}]}`,
					strings.TrimPrefix(r.URL.Path, "/apis/"), test.resource)
			}))
			defer server.Close()
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			if err := os.WriteFile(kubeconfig, fmt.Appendf(nil,
				`{"apiVersion": "v1", "kind": "Config", "current-context": "a",
"contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
"clusters": [{"name": "a", "cluster": {"server": %q}}], "users": [{"name": "a"}]}`, server.URL), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := newCheckCommand()
			var out bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			cmd.SetArgs([]string{"--kubeconfig=" + kubeconfig, "--timeout=100ms"})
			err := cmd.ExecuteContext(t.Context())
			said := out.String()
			if err != nil {
				said += err.Error()
			}
			if (err != nil) != test.fails || !strings.Contains(said, test.want) {
				t.Errorf("check: %v, %q, want %q", err, said, test.want)
			}
		})
	}
}
