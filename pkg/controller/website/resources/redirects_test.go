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

// TestNginxRedirects: no path leads to another host, or adds a header.
func TestNginxRedirects(t *testing.T) {
	s := startNginx(t, withServing(v1beta1.WebsiteServing{Redirects: []v1beta1.Redirect{
		{From: "/blog/*", To: "/news/:splat", StatusCode: http.StatusFound},
		{From: "/root/*", To: "/:splat", StatusCode: http.StatusMovedPermanently},
	}}))
	s.write(commitA, "404.html", "not here")
	s.publish("releases/" + commitA)
	tests := map[string]string{
		"/blog/$host${uri}":              "302 /news/$host${uri}",
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
}

// TestLargestServingFitsIntoAConfigMap renders specs of the maximum size that the API accepts, each
// with the values that take most space in the configuration.
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
