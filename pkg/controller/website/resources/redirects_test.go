package resources

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func TestNginxRedirects(t *testing.T) {
	s := startNginx(t, withServing(v1beta1.WebsiteServing{Redirects: []v1beta1.Redirect{
		{From: "/blog/*", To: "/news/:splat", StatusCode: http.StatusFound},
		{From: "/old", To: "/new?from=old", StatusCode: http.StatusMovedPermanently},
		{From: "/part", To: "/whole#part", StatusCode: http.StatusMovedPermanently},
		{From: "/a+b,(c)", To: "https://example.com/x#part", StatusCode: http.StatusTemporaryRedirect},
		{From: "/blog/2020/*", To: "https://archive.example.com/:splat?year=2020&p=:splat#:splat",
			StatusCode: http.StatusMovedPermanently},
		{From: "/blog/about", To: "/about", StatusCode: http.StatusMovedPermanently},
		{From: "/root/*", To: "/:splat", StatusCode: http.StatusMovedPermanently},
		{From: "/gone/*", To: "/", StatusCode: http.StatusSeeOther},
		{From: "/x.y+z/*", To: "/z/:splat", StatusCode: http.StatusMovedPermanently},
	}}))
	s.write(commitA, "old", "still a file")
	s.write(commitA, "older", "file")
	s.write(commitA, "blog/index.html", "blog")
	s.write(commitA, "xAy+z/page.html", "not redirected")
	s.write(commitA, "404.html", "not here")
	s.publish("releases/" + commitA)
	tests := map[string]string{
		"/old":                           "301 /new?from=old",
		"/old?x=1":                       "301 /new?from=old",
		"/part?x=1":                      "301 /whole?x=1#part",
		"/a+b,(c)":                       "307 https://example.com/x#part",
		"/a+b,(c)?x=1&y=%20":             "307 https://example.com/x?x=1&y=%20#part",
		"/blog/":                         "302 /news/",
		"/blog":                          "301 /blog/",
		"/blog/2021/post":                "302 /news/2021/post",
		"/blog/post?x=1&y=a/b":           "302 /news/post?x=1&y=a/b",
		"/blog/a%20b%2Fc%0Ad":            "302 /news/a%20b%2Fc%0Ad",
		"/blog/:splat":                   "302 /news/:splat",
		"/blog/$host${uri}":              "302 /news/$host${uri}",
		"/blog/2020/a?x=1":               "301 https://archive.example.com/a?year=2020&p=a#a",
		"/blog/about?x=1":                "301 /about?x=1",
		"/gone/anything":                 "303 /",
		"/x.y+z/page":                    "301 /z/page",
		"/%62log/post":                   "302 /news/post",
		"/other/../blog/post":            "302 /news/post",
		"//blog//post":                   "302 /news/post",
		"/root//evil.example":            "301 /evil.example",
		"/root///evil.example":           "301 /evil.example",
		"/root/.//evil.example":          "301 /.//evil.example",
		"/root/%2Fevil.example":          "301 /%2Fevil.example",
		"/root/\\evil.example":           "404 ",
		"/root/%5Cevil.example":          "301 /%5Cevil.example",
		"/root/a\\..\\evil.example":      "404 ",
		"/%72oot/a%0d%0aX-Injected:%20x": "404 ",
		"/root/a%0d%0aX-Injected:%20x":   "301 /a%0d%0aX-Injected:%20x",
		"/root/?x=%0d%0aX-Injected:%20x": "301 /?x=%0d%0aX-Injected:%20x",
	}
	for path, want := range tests {
		answer := s.raw(fmt.Sprintf("GET %s HTTP/1.1\r\nHost: site.example:31971\r\nConnection: close\r\n\r\n", path))
		head, _, _ := strings.Cut(answer, "\r\n\r\n")
		lines := strings.Split(head, "\r\n")
		location := ""
		for _, line := range lines[1:] {
			if value, ok := strings.CutPrefix(line, "Location: "); ok {
				location = value
			}
			if strings.HasPrefix(line, "X-Injected") {
				t.Errorf("GET %s: a header was injected:\n%s", path, head)
			}
		}
		if got := strings.Fields(lines[0])[1] + " " + location; got != want {
			t.Errorf("GET %s = %s, want %s", path, got, want)
		}
	}
	s.want(s.http, "/older", http.StatusOK, "file")
	s.want(s.http, "/xAy+z/page", http.StatusOK, "not redirected")
}

// TestNginxMovedSite redirects everything, the paths of errors included.
func TestNginxMovedSite(t *testing.T) {
	s := startNginx(t, withServing(v1beta1.WebsiteServing{Redirects: []v1beta1.Redirect{
		{From: "/*", To: "https://new.example.com/:splat", StatusCode: http.StatusMovedPermanently},
		{From: "/stays", To: "/here", StatusCode: http.StatusMovedPermanently},
	}}))
	s.write(commitA, "index.html", "home")
	s.publish("releases/" + commitA)
	for path, want := range map[string]string{
		"/": "https://new.example.com/", "/index.html": "https://new.example.com/index.html",
		"/a/b?x=1": "https://new.example.com/a/b?x=1", "/stays": "/here",
		"/.well-known/security.txt": "https://new.example.com/.well-known/security.txt",
	} {
		response, _ := s.get(s.http, path)
		if got := response.Header.Get("Location"); response.StatusCode != http.StatusMovedPermanently || got != want {
			t.Errorf("GET %s = %d %s, want %s", path, response.StatusCode, got, want)
		}
	}
	s.want(s.http, "/.git", http.StatusNotFound, "")
}

// TestLargestServingFitsIntoAConfigMap renders specs of the maximum size that the
// API accepts, each with what takes most space in the configuration.
func TestLargestServingFitsIntoAConfigMap(t *testing.T) {
	const maxSpecBytes = 128 << 10
	long := func(i, length int) string {
		prefix := fmt.Sprintf("/%d", i)
		return prefix + strings.Repeat(".", length-len(prefix))
	}
	tests := map[string]func(*v1beta1.WebsiteServing){
		"short redirects": func(s *v1beta1.WebsiteServing) {
			for i := range 2000 {
				s.Redirects = append(s.Redirects, v1beta1.Redirect{From: long(i, 22), To: long(i, 23)})
			}
		},
		"redirects with a prefix": func(s *v1beta1.WebsiteServing) {
			for i := range 100 {
				s.Redirects = append(s.Redirects,
					v1beta1.Redirect{From: long(i, 300) + "/*", To: "/" + strings.Repeat(":splat", 160)})
			}
		},
		"headers for paths": func(s *v1beta1.WebsiteServing) {
			for i := range 100 {
				s.Headers = append(s.Headers, v1beta1.ResponseHeader{Path: long(i, 640), Name: "X-Header",
					Value: strings.Repeat("v", 600)})
			}
		},
		"headers with escapes": func(s *v1beta1.WebsiteServing) {
			for i := range 15 {
				s.Headers = append(s.Headers, v1beta1.ResponseHeader{Path: long(i, 130), Name: fmt.Sprintf("X-%d", i),
					Value: strings.Repeat(`"`, 4096)})
			}
		},
	}
	for name, fill := range tests {
		t.Run(name, func(t *testing.T) {
			// The configuration of a protected site is longer.
			website := newWebsite(withUsers("readers"))
			fill(&website.Spec.Serving)
			data, err := json.Marshal(website.Spec)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > maxSpecBytes || len(data) < maxSpecBytes*9/10 {
				t.Errorf("the spec has %d bytes, want nearly %d", len(data), maxSpecBytes)
			}
			for i := range website.Spec.Serving.Redirects {
				website.Spec.Serving.Redirects[i].StatusCode = 301
			}
			config := mustNginxConfig(t, website)
			t.Logf("spec %d bytes, configuration %d bytes", len(data), len(config))
			if len(config) > corev1.MaxSecretSize-4096 {
				t.Errorf("the configuration has %d bytes, want less than a ConfigMap takes", len(config))
			}
		})
	}
}
