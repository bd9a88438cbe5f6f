package install

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

// definitions are the directories of CustomResourceDefinitions in the modules of test/crds.
var definitions = map[string]string{
	"github.com/cert-manager/cert-manager":               "deploy/crds",
	"github.com/prometheus-operator/prometheus-operator": "example/prometheus-operator-crd",
}

// installDefinitions installs the foreign CustomResourceDefinitions that components use.
func installDefinitions(t *testing.T) {
	t.Helper()
	for module, directory := range definitions {
		cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
		cmd.Dir = framework.Path("test", "crds")
		out, err := cmd.Output()
		var downloaded struct{ Dir string }
		if err == nil {
			err = json.Unmarshal(out, &downloaded)
		}
		if err != nil {
			t.Fatalf("downloading %s: %v: %s", module, err, out)
		}
		files, err := filepath.Glob(filepath.Join(downloaded.Dir, filepath.FromSlash(directory), "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("the definitions of %s are %v, %v", module, files, err)
		}
		for _, file := range files {
			// Some are too large for the annotation of a client-side apply.
			framework.Kubectl(t, "apply", "--server-side", "-f", file)
		}
	}
	framework.Kubectl(t, "wait", kubectlTimeout, "--for=condition=Established", "customresourcedefinitions", "--all")
}
