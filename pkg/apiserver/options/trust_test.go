package options

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unreachableHost returns a kubeconfig file for a port on which nothing listens.
func unreachableHost(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	const config = `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"host",` +
		`"cluster":{"server":"http://127.0.0.1:1"}}],"contexts":[{"name":"host","context":{"cluster":"host"}}],` +
		`"current-context":"host"}`
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSourceOfTrust: the flags determine the CAs that the server waits for, and takes from
// the cluster.
func TestSourceOfTrust(t *testing.T) {
	kubeconfig := unreachableHost(t)
	tests := map[string]struct {
		args []string
		// clients is set if the client CA is the cluster's.
		trusted, known, clients bool
	}{
		"the cluster": {trusted: true, clients: true},
		"the cluster, if it can be": {args: []string{"--authentication-tolerate-lookup-failure"}, trusted: true,
			known: true, clients: true},
		"a file for clients": {args: []string{"--client-ca-file=/etc/clients.crt"}, trusted: true},
		"a file for the proxy": {args: []string{"--requestheader-client-ca-file=/etc/proxy.crt"},
			trusted: true, clients: true},
		"files": {
			args: []string{"--client-ca-file=/etc/clients.crt", "--requestheader-client-ca-file=/etc/proxy.crt"},
		},
		"none": {args: []string{"--authentication-skip-lookup"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := parse(t, append([]string{"--authentication-kubeconfig=" + kubeconfig}, test.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			trusted, err := o.applyTrust()
			if err != nil {
				t.Fatal(err)
			}
			if got := o.Recommended.Authentication.ClientCert.CAContentProvider != nil; (trusted != nil) != test.trusted ||
				got != test.clients {
				t.Fatalf("trust of the cluster %t, its client CA %t; want %t, %t", trusted != nil, got, test.trusted, test.clients)
			}
			if trusted != nil && (trusted.Unknown() == nil) != test.known {
				t.Errorf("before it is read: %v", trusted.Unknown())
			}
		})
	}
}

func TestUnreadableAuthenticationKubeconfig(t *testing.T) {
	o, err := parse(t, "--authentication-kubeconfig=/no/such/file")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.applyTrust(); err == nil ||
		!strings.Contains(err.Error(), "--authentication-kubeconfig: stat /no/such/file") {
		t.Errorf("error = %v, want the flag and the file", err)
	}
}
