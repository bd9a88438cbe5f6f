package resources

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNginxAdminPort(t *testing.T) {
	s := startNginx(t, withPath("public/site"))
	for _, path := range []string{"/readyz", "/commit"} {
		s.want(s.admin, path, http.StatusServiceUnavailable, "no commit\n")
	}

	s.write(commitA, "public/site/index.html", "home")
	s.publish("releases/" + commitA)
	s.want(s.admin, "/readyz", http.StatusOK, "ok\n")
	s.want(s.admin, "/commit", http.StatusOK, commitA+"\n")
	s.want(s.http, "/", http.StatusOK, "home")

	t.Run("answers are for the moment", func(t *testing.T) {
		for _, path := range []string{"/readyz", "/commit", "/missing"} {
			response, _ := s.get(s.admin, path)
			if got := response.Header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("GET %s: Cache-Control = %q", path, got)
			}
			if got := response.Header.Get("Content-Type"); path != "/missing" && got != "text/plain" {
				t.Errorf("GET %s: Content-Type = %q", path, got)
			}
		}
	})
	t.Run("nothing else", func(t *testing.T) {
		for _, path := range []string{"/", "/index.html", "/readyz/", "/public/site/index.html"} {
			s.want(s.admin, path, http.StatusNotFound, "")
		}
	})
	t.Run("not on the site's port", func(t *testing.T) {
		for _, path := range []string{"/readyz", "/commit"} {
			s.want(s.http, path, http.StatusNotFound, "")
		}
	})
}

// TestNginxListensOnIPv6WhereThereIsAny replaces the kernel: a directory, existing or not, leads to
// the file that listens.
func TestNginxListensOnIPv6WhereThereIsAny(t *testing.T) {
	nginxBinary(t)
	for kernel, want := range map[string]bool{"has": true, "lacks": false} {
		t.Run(kernel, func(t *testing.T) {
			folder := socketFolder(t)
			if err := os.WriteFile(filepath.Join(folder, "http-ipv6.conf"),
				fmt.Appendf(nil, "listen unix:%s/another default_server;\n", folder), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(folder, "has"), 0o755); err != nil {
				t.Fatal(err)
			}
			s := startNginxWith(t, func(p *nginxParameters) {
				p.HTTPListenIPv6 = folder + "/" + kernel + "/../http-ipv[6].conf"
			})
			s.want(s.http, "/", http.StatusServiceUnavailable, "")
			connection, err := net.Dial("unix", folder+"/another")
			if err == nil {
				_ = connection.Close()
			}
			if (err == nil) != want {
				t.Errorf("listens where the file says = %t, want %t: %v", err == nil, want, err)
			}
		})
	}
	// In a pod, the path ends at the root of the file system.
	include := ipv6Include(httpIPv6Key)
	before, _, found := strings.Cut(include, nginxConfigPath)
	if !found {
		t.Fatalf("%q does not lead to the ConfigMap", include)
	}
	if _, err := os.Stat("/proc/net/dev_snmp6"); err != nil {
		t.Skipf("cannot follow %s here: %v", before, err)
	}
	got, err := filepath.EvalSymlinks(before)
	if err != nil || got != "/" {
		t.Errorf("%s leads to %q, %v", before, got, err)
	}
}
