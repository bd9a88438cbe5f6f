package main

import (
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/kubesites/website-apiserver/hack/images"
)

// standIns puts programs on PATH that write their arguments to a file, and returns the calls. They print the
// response for the first pattern that their arguments contain, or fail with it if it begins with "error: ".
func standIns(t *testing.T, answers map[string]string) (called func() []string) {
	t.Helper()
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	script := "#!/bin/sh\necho \"$(basename \"$0\") $*\" >>" + calls + "\ncase \"$*\" in\n"
	for pattern, answer := range answers {
		script += "*'" + pattern + "'*) "
		if message, failed := strings.CutPrefix(answer, "error: "); failed {
			script += "echo '" + message + "' >&2; exit 1 ;;\n"
		} else if answer != "" {
			script += "echo '" + answer + "' ;;\n"
		} else {
			script += ";;\n"
		}
	}
	script += "esac\n"
	for _, program := range []string{"kind", "k3d", "minikube", "kubectl", "ctr"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() []string {
		data, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	}
}

// made are images without content.
func made(platforms []images.Platform) []images.Made {
	var all []images.Made
	for _, program := range images.Programs {
		image := images.Made{Program: program, Index: empty.Index, Images: map[images.Platform]v1.Image{}}
		for _, platform := range platforms {
			image.Images[platform] = empty.Image
			image.Index = mutate.AppendManifests(image.Index, mutate.IndexAddendum{Add: empty.Image})
		}
		all = append(all, image)
	}
	return all
}

var amd64 = []images.Platform{{OS: "linux", Arch: "amd64"}}

// TestLoad: the name of the context determines the command that loads the images.
func TestLoad(t *testing.T) {
	for kubeContext, want := range map[string]string{
		"kind-kind": "kind load image-archive website-apiserver.tar --name=kind",
		"kind-a-b":  "kind load image-archive website-apiserver.tar --name=a-b",
		"k3d-mine":  "k3d image import website-apiserver.tar --cluster=mine",
		"minikube":  "minikube image load website-apiserver.tar --profile=minikube",
	} {
		t.Run(kubeContext, func(t *testing.T) {
			called := standIns(t, nil)
			d := deployment{context: kubeContext, loader: loaderOf(kubeContext), commit: "0123456789abcdef", start: time.Now()}
			if err := d.distribute(t.Context(), made(amd64), amd64); err != nil {
				t.Fatal(err)
			}
			calls := called()
			if len(calls) != 3 {
				t.Fatalf("called: %q", calls)
			}
			fields := strings.Fields(calls[0])
			for i, field := range fields {
				if strings.HasPrefix(field, "/") {
					fields[i] = filepath.Base(field)
				}
			}
			if got := strings.Join(fields, " "); got != want {
				t.Errorf("called %q, want %q", got, want)
			}
		})
	}
	for _, kubeContext := range []string{"production", "gke_kind-of", "minikube-2"} {
		if loader := loaderOf(kubeContext); loader != nil {
			t.Errorf("context %s is taken for %s", kubeContext, loader.about)
		}
	}
}

func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for given, want := range map[string]string{"/mine": "/mine", "/slash/": "/slash"} {
		d := deployment{registry: host + given, commit: "0123456789abcdef", start: time.Now()}
		if err := d.distribute(t.Context(), made(amd64), amd64); err != nil {
			t.Fatal(err)
		}
		reference, err := name.ParseReference(host + want + "/website-agent:0123456789ab")
		if err == nil {
			_, err = remote.Index(reference)
		}
		if err != nil {
			t.Errorf("REGISTRY=%s: %v", d.registry, err)
		}
	}
}

// TestUnknownContext: images are not loaded into other clusters automatically.
func TestUnknownContext(t *testing.T) {
	standIns(t, map[string]string{"config current-context": "production"})
	err := command(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "REGISTRY=") || !strings.Contains(err.Error(), "LOAD=") {
		t.Errorf("deploy = %v", err)
	}
}

func TestPlatforms(t *testing.T) {
	for name, test := range map[string]struct {
		nodes  string
		loader bool
		want   int
		error  string
	}{
		"one":                  {"amd64 amd64", true, 1, ""},
		"two, from a registry": {"arm64 amd64 arm64", false, 2, ""},
		"two, loaded":          {"amd64 arm64", true, 0, "REGISTRY"},
		"none":                 {"", true, 0, "no nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			standIns(t, map[string]string{"get nodes": test.nodes})
			d := deployment{context: "kind-kind"}
			if test.loader {
				d.loader = loaderOf(d.context)
			}
			platforms, err := d.platforms(t.Context())
			if len(platforms) != test.want || (err == nil) != (test.error == "") ||
				err != nil && !strings.Contains(err.Error(), test.error) {
				t.Errorf("platforms = %v, %v", platforms, err)
			}
		})
	}
}

// TestTag: nodes keep an existing image, so uncommitted changes have another tag each time.
func TestTag(t *testing.T) {
	start := time.Date(2026, 11, 28, 5, 4, 3, 0, time.UTC)
	for commit, want := range map[string]string{
		"0123456789abcdef":       "0123456789ab",
		"0123456789abcdef-dirty": "0123456789ab-20261128050403",
		"unknown":                "unknown",
	} {
		if got := (&deployment{commit: commit, start: start}).tag(); got != want {
			t.Errorf("tag of %s = %s, want %s", commit, got, want)
		}
	}
}

func TestReady(t *testing.T) {
	for name, test := range map[string]struct{ website, want string }{
		"ready": {`{"metadata":{"generation":2},"status":{"observedGeneration":2,"conditions":[{"type":"Ready",` +
			`"status":"True"}]}}`, ""},
		"outdated": {`{"metadata":{"generation":3},"status":{"observedGeneration":2,"conditions":[{"type":"Ready",` +
			`"status":"True"}]}}`, "not observed"},
		"new": {`{"metadata":{"generation":1},"status":{"observedGeneration":1}}`, "no conditions"},
		"starting": {`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Unschedulable","message":"no ` +
			`nodes"}]}}`, "Unschedulable: no nodes"},
		"unreachable": {`{"status":{"conditions":[{"type":"Ready","status":"False"},{"type":"Synced","status":"False",` +
			`"reason":"RepositoryUnreachable","message":"m"}]}}`, "cannot fetch the repository: RepositoryUnreachable: m"},
	} {
		t.Run(name, func(t *testing.T) {
			err := ready([]byte(test.website))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("ready = %v, want %q", err, test.want)
			}
			if errors.Is(err, errRepository) != (name == "unreachable") {
				t.Errorf("ready = %v", err)
			}
		})
	}
}

// TestManifest: the repository of the example can be replaced.
func TestManifest(t *testing.T) {
	d := deployment{dir: "../../.."}
	manifest, repository, err := d.manifest()
	if err != nil || !strings.HasPrefix(repository, "https://") ||
		!strings.Contains(manifest, "repository: "+repository+"\n") {
		t.Errorf("manifest = %s, %s, %v", manifest, repository, err)
	}
	if !strings.Contains(manifest, "metadata:\n  labels: {app.kubernetes.io/managed-by: make-deploy}\n  name: hello\n") {
		t.Errorf("the Website lacks the label of make deploy: %s", manifest)
	}
	d.repository = "http://git.example.com/site.git"
	manifest, repository, err = d.manifest()
	if err != nil || repository != d.repository ||
		!strings.Contains(manifest, `repository: "http://git.example.com/site.git"`+"\n") {
		t.Errorf("manifest = %s, %s, %v", manifest, repository, err)
	}
}
