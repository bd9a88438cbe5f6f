package resources

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// FuzzNginxConfig tests with nginx: it must accept every value that this package writes into a
// configuration, even those that the API server would reject, and no value may end its directive.
func FuzzNginxConfig(f *testing.F) {
	binary, err := exec.LookPath("nginx")
	if err != nil {
		f.Skip("no nginx on PATH: install the package nginx to test how the configuration behaves")
	}
	f.Add("public", "index.html", "/404.html", "/old", "/new", "/assets/", "X-Frame-Options", "DENY",
		"/data/*", "dat", "text/plain; charset=utf-8", "UTF-8")
	f.Add("a/b.c/d-e", "home.htm", "/e/404", "/a+b,(c)", "https://example.com/x?a=b#c", "/v1.0/", "Link",
		`</a.css>; rel="preload"`,
		"/a", "js", "application/x+y", "None")
	f.Add("my site/日本 docs", "index.html", "/404.html", "/old", "/new", "/", "X", "ä",
		"/日本 ';{}", "a+b", "a/b;charset=x", "windows-1252")
	f.Add("", "", "", "/", "/", "/", "Cache-Control", "no-cache",
		"", "", "", "")
	f.Add("", "", "", `"`, `\`, `\"`, "X-Content-Type-Options", `\\"`,
		"/\"", "a;", "a/b; return 200", "a;b")
	f.Add("", "", "", "/a;", "/b}", "/{", "X", `"; autoindex on; #`,
		"/$x", "include", "a/$x", "$x")
	f.Add("", "", "", "/ö", "/日本", "(?i)[", "CDN-Cache-Control", "'",
		"/ö/*", "html", "text/html", "off")
	f.Add("", "", "/ spaces in it", " ", " ", " ", "Expires", " ",
		"/x y", "a b", "a b/c", "a b")
	f.Add("", "", "/#", "/~", "=/a", "^~", "Website-Commit", "ë",
		"/.git/*", "A", "include/x", "utf-8")
	f.Add("", "", "/größe '.html", "/日本 ;{}/*", "/:splat", "/ä'/*", "X", "x",
		"/.well-known/*", "svgz", "image/svg+xml", "utf-8")
	f.Add("", "", "/%3F", "/%22", "/a", "/%24%5C", "X", "x",
		"/*", "default", "default/x", "default")
	f.Fuzz(func(t *testing.T, path, index, notFound, from, to, headerPath, headerName, headerValue, typePath,
		extension, contentType, charset string) {
		for _, access := range []func(*v1beta1.Website){func(*v1beta1.Website) {}, withUsers("readers")} {
			config, err := NginxConfig(newWebsite(access, withPath(path), withServing(v1beta1.WebsiteServing{
				Index:        index,
				NotFoundPath: notFound,
				Redirects:    []v1beta1.Redirect{{From: from, To: to, StatusCode: 301}},
				Headers:      []v1beta1.ResponseHeader{{Path: headerPath, Name: headerName, Value: headerValue}},
				Types: []v1beta1.ContentType{{Path: typePath, Type: contentType},
					{Extension: extension, Type: contentType}},
				Charset: charset,
			})), testInstallation)
			if err != nil {
				return
			}
			folder := t.TempDir()
			// Files that nginx -t creates there could belong to another user in the next run.
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
