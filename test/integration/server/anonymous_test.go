package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestPublicPaths requests every path of both programs without authentication. The documentation
// lists the public ones.
func TestPublicPaths(t *testing.T) {
	t.Parallel()
	s := framework.NewServer(t)
	framework.WaitAnswer(t, s.URL+"/", http.StatusOK)
	framework.WaitAnswer(t, framework.ControllerURL()+"/metrics", http.StatusOK)
	_, body, err := framework.SecureGet(t.Context(), t, s.URL+"/", true)
	if err != nil {
		t.Fatal(err)
	}
	var index struct{ Paths []string }
	if err := json.Unmarshal([]byte(body), &index); err != nil || !slices.Contains(index.Paths, "/metrics") ||
		!slices.Contains(index.Paths, "/readyz") {
		t.Fatalf("index = %s (%v), want the paths of the server", body, err)
	}
	const websites = "/apis/mycontroller.nevermosby.io/v1beta1/websites"
	tests := map[string]struct {
		url   string
		paths []string
		// public maps the public paths to their status codes.
		public map[string]int
	}{
		"website-apiserver": {
			url: s.URL,
			paths: append(index.Paths, "/", "/healthz/", "/version/", "/openapi/v3", "/debug/pprof/", "/no/such/path", websites,
				websites+"?watch=true", "/api", "/apis/mycontroller.nevermosby.io/v1alpha1"),
			public: map[string]int{"/healthz": http.StatusOK, "/livez": http.StatusOK, "/readyz": http.StatusOK,
				"/version": http.StatusOK, "/version/": http.StatusOK},
		},
		"website-controller": {
			url: framework.ControllerURL(),
			paths: []string{"/", "/metrics", "/metrics/slis", "/configz", "/statusz", "/flagz", "/debug/pprof/",
				"/debug/pprof/profile", "/debug/flags/v",
				"/healthz", "/healthz/ping", "/livez", "/livez/leaderElection", "/readyz", "/readyz/informer-sync", "/version",
				"/version/", "/no/such/path"},
			// The cluster's RBAC permits these paths as for website-apiserver, but they are not served.
			public: map[string]int{"/healthz": http.StatusOK, "/livez": http.StatusOK, "/readyz": http.StatusOK,
				"/version": http.StatusNotFound, "/version/": http.StatusNotFound},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, path := range test.paths {
				code, body, err := framework.SecureGet(t.Context(), t, test.url+path, false)
				if err != nil {
					t.Fatal(err)
				}
				want, public := test.public[path]
				if public && code != want || !public && code != http.StatusForbidden && code != http.StatusUnauthorized {
					t.Errorf("GET %s without authentication = %d %s, want %d (0: 401 or 403)", path, code, body, want)
				}
			}
			for path := range test.public {
				if !slices.Contains(test.paths, path) {
					t.Errorf("%s is not among the paths of the program", path)
				}
			}
		})
	}
}
