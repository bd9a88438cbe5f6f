package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestStartWithDataDirectoryInUse starts a server on the data directory of another one. It serves
// everything but Websites, reports why, and opens when the other one has ended.
func TestStartWithDataDirectoryInUse(t *testing.T) {
	t.Parallel()
	first := framework.NewServer(t)
	second, url, err := framework.Cluster.StartAPIServer(t.Context(), "apiserver-in-use", flagsOfStore(first)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := second.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	servesAllButWebsites(t, url, "is in use by another process")
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	framework.WaitAnswer(t, url+"/apis/mycontroller.nevermosby.io/v1beta1/websites", http.StatusOK)
}

// flagsOfStore returns the flags by which another server uses the same store.
func flagsOfStore(s *framework.Server) []string {
	var flags []string
	for _, arg := range s.Args()[1:] {
		if strings.HasPrefix(arg, "--data-dir=") || strings.HasPrefix(arg, "--store-record-namespace=") {
			flags = append(flags, arg)
		}
	}
	return flags
}

// servesAllButWebsites checks a server whose etcd cannot be started.
func servesAllButWebsites(t *testing.T, url, why string) {
	t.Helper()
	for path, want := range map[string]string{
		"/readyz": "ok",
		"/livez":  "ok",
		"/apis/mycontroller.nevermosby.io/v1beta1": `"websites"`,
		"/openapi/v2": "mycontroller",
		"/openapi/v3/apis/mycontroller.nevermosby.io/v1beta1": "WebsiteSpec",
	} {
		if code, body, err := framework.SecureGet(t.Context(), t, url+path, true); err != nil || code != http.StatusOK ||
			!strings.Contains(body, want) {
			t.Errorf("GET %s without etcd = %d (%v) %.200s, want 200 and %s", path, code, err, body, want)
		}
	}
	framework.WaitFor(t, "requests for Websites say why they fail", func(ctx context.Context) error {
		code, body, err := framework.SecureGet(ctx, t, url+"/apis/mycontroller.nevermosby.io/v1beta1/websites", true)
		if err == nil && (code != http.StatusServiceUnavailable || !strings.Contains(body, why)) {
			err = fmt.Errorf("%d %s", code, body)
		}
		return err
	})
	if _, metrics, err := framework.SecureGet(t.Context(), t, url+"/metrics", true); err != nil ||
		!strings.Contains(metrics, "website_apiserver_embedded_etcd_running 0") {
		t.Errorf("the metrics (%v) lack website_apiserver_embedded_etcd_running 0", err)
	}
}
