package serving

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/controller/images"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// The names of the servers.
const (
	website    = "website"
	plainNginx = "plain"
)

// server is one that is measured.
type server struct{ name, service, url string }

//go:embed servers.yaml.tmpl
var serversTemplate string

// startServers publishes the same files with a Website and with a plain nginx.
func startServers(ctx context.Context, cluster *devcluster.Cluster) ([]server, error) {
	dir, err := os.MkdirTemp("", "website-bench-serving-")
	if err != nil {
		return nil, fmt.Errorf("creating a directory for the content: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := writeContent(dir); err != nil {
		return nil, err
	}
	if _, err := cluster.CommitToRepository(ctx, "serving", dir, "Publish what is measured"); err != nil {
		return nil, err
	}
	tmpl, err := template.New("servers.yaml").Parse(serversTemplate)
	if err != nil {
		return nil, fmt.Errorf("parsing the template of the servers: %w", err)
	}
	var manifest bytes.Buffer
	if err := tmpl.Execute(&manifest, map[string]string{
		"Repository": cluster.GitServerURL() + "/serving.git", "Nginx": images.Nginx, "GitSync": images.GitSync,
	}); err != nil {
		return nil, fmt.Errorf("rendering the servers: %w", err)
	}
	for _, args := range [][]string{
		{"apply", "-f", "-"},
		{"wait", "--for=condition=Ready", "website/" + website, "--timeout=3m"},
		{"wait", "--for=condition=Available", "deployment/" + plainNginx, "--timeout=3m"},
	} {
		if _, stderr, err := cluster.KubectlWith(ctx, devcluster.KubectlOptions{Stdin: bytes.NewReader(manifest.Bytes())},
			args...); err != nil {
			return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr))
		}
	}
	servers := []server{{name: website, service: website + "-npsvc"}, {name: plainNginx, service: plainNginx}}
	for i, s := range servers {
		if servers[i].url, err = cluster.NodePortURL(ctx, "default", s.service); err != nil {
			return nil, err
		}
		if err := awaitPage(ctx, servers[i].url); err != nil {
			return nil, err
		}
	}
	return servers, nil
}

// awaitPage waits until a page is served: kube-proxy may see the Ready pod later.
func awaitPage(ctx context.Context, url string) error {
	return measure.Await(ctx, url+" is served", time.Minute, 100*time.Millisecond, func() error {
		_, err := do(ctx, url, nil)
		return err
	})
}

// writeContent writes the files: a page of 8 KiB, stylesheets of 34 KiB, one of them with a
// compressed file beside it, and 8 MiB that do not compress.
func writeContent(dir string) error {
	var rules strings.Builder
	// The same rules in each run, as different as the rules of a page: compression leaves a sixth.
	numbers := mathrand.New(mathrand.NewPCG(1, 1))
	for i := range 512 {
		fmt.Fprintf(&rules, ".card-%d { margin: %dpx auto; padding: %drem %drem; color: #%06x }\n", i, numbers.IntN(40),
			numbers.IntN(5), numbers.IntN(5), numbers.IntN(1<<24))
	}
	style := rules.String()
	compressed, err := compress(style)
	if err != nil {
		return err
	}
	film := make([]byte, 8<<20)
	if _, err := rand.Read(film); err != nil {
		return fmt.Errorf("making a large file: %w", err)
	}
	page := "<!doctype html><html lang=\"en\"><head><title>Page</title></head><body>" +
		strings.Repeat("<p>Paragraphs of a page.</p>\n", 290) + "</body></html>"
	for name, content := range map[string][]byte{
		"index.html": []byte(page), "style.css": []byte(style), "ready.css": []byte(style), "ready.css.gz": compressed,
		"film.bin": film,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("writing what is served: %w", err)
		}
	}
	return nil
}
