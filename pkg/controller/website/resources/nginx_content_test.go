package resources

import (
	"net/http"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

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
					// nginx itself rejects TRACE and malformed methods earlier.
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
