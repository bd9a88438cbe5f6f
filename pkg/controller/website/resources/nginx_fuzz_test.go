package resources

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// FuzzNginxConfig lets nginx judge: whatever this package agrees to write into a
// configuration, even what the API server would refuse, nginx must accept, and
// no value may end its directive.
func FuzzNginxConfig(f *testing.F) {
	binary, err := exec.LookPath("nginx")
	if err != nil {
		f.Skip("no nginx on PATH: install the package nginx to test how the configuration behaves")
	}
	f.Add("public", "index.html", "/404.html", "/old", "/new", "/assets/", "X-Frame-Options", "DENY")
	f.Add("a/b.c/d-e", "home.htm", "/e/404", "/a+b,(c)", "https://example.com/x?a=b#c", "/v1.0/", "Link",
		`</a.css>; rel="preload"`)
	f.Add("my site/日本 docs", "index.html", "/404.html", "/old", "/new", "/", "X", "ä")
	f.Add("", "", "", "/", "/", "/", "Cache-Control", "no-cache")
	f.Add("", "", "", `"`, `\`, `\"`, "X-Content-Type-Options", `\\"`)
	f.Add("", "", "", "/a;", "/b}", "/{", "X", `"; autoindex on; #`)
	f.Add("", "", "", "/ö", "/日本", "(?i)[", "CDN-Cache-Control", "'")
	f.Add("", "", "/ spaces in it", " ", " ", " ", "Expires", " ")
	f.Add("", "", "/#", "/~", "=/a", "^~", "Website-Commit", "ë")
	f.Add("", "", "/größe '.html", "/日本 ;{}/*", "/:splat", "/ä'/*", "X", "x")
	f.Add("", "", "/%3F", "/%22", "/a", "/%24%5C", "X", "x")
	f.Fuzz(func(t *testing.T, path, index, notFound, from, to, headerPath, headerName, headerValue string) {
		for _, access := range []func(*v1beta1.Website){func(*v1beta1.Website) {}, withUsers("readers")} {
			config, err := NginxConfig(newWebsite(access, withPath(path), withServing(v1beta1.WebsiteServing{
				Index:        index,
				NotFoundPath: notFound,
				Redirects:    []v1beta1.Redirect{{From: from, To: to, StatusCode: 301}},
				Headers:      []v1beta1.ResponseHeader{{Path: headerPath, Name: headerName, Value: headerValue}},
			})), testInstallation)
			if err != nil {
				return
			}
			folder := t.TempDir()
			// What nginx -t makes there could be another user's in the next run.
			config = strings.ReplaceAll(config, tempDir+"/", folder+"/")
			file := filepath.Join(folder, "nginx.conf")
			if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			if output, err := exec.CommandContext(t.Context(), binary, "-t", "-e", "stderr", "-c",
				file).CombinedOutput(); err != nil {
				t.Errorf("nginx -t: %v\n%s", err, output)
			}
		}
	})
}
