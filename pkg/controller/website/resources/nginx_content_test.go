package resources

import (
	"net/http"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func TestNginxContentTypes(t *testing.T) {
	s := startNginx(t)
	types := map[string]string{
		"page.html":        "text/html; charset=utf-8",
		"style.css":        "text/css; charset=utf-8",
		"app.js":           "text/javascript; charset=utf-8",
		"app.mjs":          "text/javascript; charset=utf-8",
		"notes.txt":        "text/plain; charset=utf-8",
		"README.md":        "text/markdown; charset=utf-8",
		"data.json":        "application/json; charset=utf-8",
		"app.wasm":         "application/wasm",
		"font.woff2":       "font/woff2",
		"photo.avif":       "image/avif",
		"photo.webp":       "image/webp",
		"icon.svg":         "image/svg+xml",
		"favicon.ico":      "image/x-icon",
		"film.mp4":         "video/mp4",
		"feed.atom":        "application/atom+xml",
		"site.webmanifest": "application/manifest+json; charset=utf-8",
		"sitemap.xml":      "application/xml",
		"paper.pdf":        "application/pdf",
		"UPPER.HTML":       "text/html; charset=utf-8",
		"LICENSE":          "application/octet-stream",
		"program.unknown":  "application/octet-stream",
		"archive.tar.gz":   "application/gzip",
		"script.php":       "application/octet-stream",
	}
	for name := range types {
		s.write(commitA, name, "content")
	}
	s.publish("releases/" + commitA)
	for name, want := range types {
		response, body := s.get(s.http, "/"+name)
		if got := response.Header.Get("Content-Type"); got != want || body != "content" {
			t.Errorf("GET /%s: Content-Type = %q, want %q (%d %q)", name, got, want, response.StatusCode, body)
		}
	}
}

func TestNginxMethods(t *testing.T) {
	for name, tweak := range map[string]func(*v1beta1.Website){
		"site":                    func(*v1beta1.Website) {},
		"single page application": withServing(v1beta1.WebsiteServing{Fallback: v1beta1.FallbackSPA}),
		"redirects": withServing(
			v1beta1.WebsiteServing{Redirects: []v1beta1.Redirect{{From: "/old", To: "/new", StatusCode: 307}}},
		),
	} {
		t.Run(name, func(t *testing.T) {
			s := startNginx(t, tweak)
			s.write(commitA, "index.html", "home")
			s.write(commitA, "404.html", "not here")
			s.publish("releases/" + commitA)
			for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "TRACE", "get"} {
				for _, path := range []string{"/", "/index.html", "/missing", "/old", "/.git/config"} {
					response, body := s.do(method, s.http, path)
					if response.StatusCode != http.StatusMethodNotAllowed && method != "get" || response.StatusCode < 400 {
						t.Errorf("%s %s = %d %q", method, path, response.StatusCode, body)
					}
					// nginx itself refuses TRACE and malformed methods before it looks here.
					if method != "TRACE" && method != "get" && response.Header.Get("Allow") != "GET, HEAD" {
						t.Errorf("%s %s: Allow = %q", method, path, response.Header.Get("Allow"))
					}
				}
			}
			head, _ := s.do(http.MethodHead, s.http, "/")
			if head.StatusCode != http.StatusOK || head.ContentLength != 4 || head.Header.Get("ETag") != tagOf("home") {
				t.Errorf("HEAD / = %d, %d bytes, %s", head.StatusCode, head.ContentLength, head.Header.Get("ETag"))
			}
			wantHeaders(t, head, map[string]string{"Allow": "", "Retry-After": ""})
		})
	}
}

// TestNginxWithoutPages: whatever the repository lacks, the status is right.
func TestNginxWithoutPages(t *testing.T) {
	for name, test := range map[string]struct {
		serving v1beta1.WebsiteServing
		files   []string
		want    map[string]int
	}{
		"nothing at all": {
			want: map[string]int{"/": 404, "/missing": 404, "/404.html": 404},
		},
		"no index": {
			files: []string{"404.html", "sub/file.txt"},
			want:  map[string]int{"/": 404, "/sub/": 404, "/sub": 301, "/sub/file.txt": 200, "/file.txt/": 404},
		},
		"a hidden page for what is missing": {
			serving: v1beta1.WebsiteServing{NotFoundPath: "/.errors/404.html"},
			files:   []string{".errors/404.html"},
			want:    map[string]int{"/": 404, "/missing": 404, "/.errors/404.html": 404},
		},
		"single page application without its page": {
			serving: v1beta1.WebsiteServing{Fallback: v1beta1.FallbackSPA},
			files:   []string{"sub/file.txt"},
			want:    map[string]int{"/": 404, "/route": 404, "/sub/": 404, "/sub/file.txt": 200},
		},
		"single page application with a folder": {
			serving: v1beta1.WebsiteServing{Fallback: v1beta1.FallbackSPA},
			files:   []string{"index.html", "sub/file.txt"},
			want:    map[string]int{"/": 200, "/route": 200, "/sub/": 200, "/sub/other": 200, "/.git": 404},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startNginx(t, withServing(test.serving))
			s.mkdir("releases/" + commitA)
			for _, file := range test.files {
				s.write(commitA, file, "content of "+file)
			}
			s.publish("releases/" + commitA)
			for path, want := range test.want {
				s.want(s.http, path, want, "")
			}
		})
	}
}
