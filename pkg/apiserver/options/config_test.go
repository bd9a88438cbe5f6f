package options

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// oldHost returns a kubeconfig file for a host cluster that serves only its
// version, so that all optional parts are turned off.
func oldHost(t *testing.T) string {
	t.Helper()
	return newHost(t, http.NotFoundHandler())
}

// newHost returns a kubeconfig file for a host cluster that serves its version,
// and the rest by handler.
func newHost(t testing.TB, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			handler.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"major":"1","minor":"28","gitVersion":"v1.28.0"}`)
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"host","cluster":{"server":%q}}],`+
		`"contexts":[{"name":"host","context":{"cluster":"host"}}],"current-context":"host"}`, server.URL)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestConfigLeavesTheOptionsAlone: a copy is applied, so that the options can be
// validated, shown and applied again.
func TestConfigLeavesTheOptionsAlone(t *testing.T) {
	host := oldHost(t)
	args := []string{
		"--kubeconfig=" + host, "--authentication-kubeconfig=" + host, "--authorization-kubeconfig=" + host,
		"--authentication-tolerate-lookup-failure", "--etcd-servers=http://127.0.0.1:1",
		"--disable-admission-plugins=MutatingAdmissionWebhook",
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	parsed := func() CompletedOptions {
		o, err := parse(t, args...)
		if err != nil {
			t.Fatal(err)
		}
		o.Recommended.SecureServing.Listener = listener
		return o
	}
	o, untouched := parsed(), parsed()
	for range 2 {
		config, err := o.Config(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if generic := config.GenericConfig; generic.FlowControl != nil || generic.ClientConfig == nil ||
			generic.SecureServing == nil || config.Store == nil {
			t.Error("the configuration has priority and fairness, or no client of the host, nothing to listen on or no store")
		}
	}
	if _, err := o.StoreConfig(); err != nil {
		t.Fatal(err)
	}

	got, want := o.Recommended, untouched.Recommended
	for name, part := range map[string]struct{ got, want any }{
		"etcd":             {got.Etcd, want.Etcd},
		"secure serving":   {got.SecureServing.SecureServingOptions, want.SecureServing.SecureServingOptions},
		"authentication":   {got.Authentication, want.Authentication},
		"authorization":    {got.Authorization, want.Authorization},
		"auditing":         {got.Audit, want.Audit},
		"features":         {got.Features, want.Features},
		"core API":         {got.CoreAPI, want.CoreAPI},
		"disabled plugins": {got.Admission.DisablePlugins, want.Admission.DisablePlugins},
		"enabled plugins":  {got.Admission.EnablePlugins, want.Admission.EnablePlugins},
		"egress selector":  {got.EgressSelector, want.EgressSelector},
		"traces":           {got.Traces, want.Traces},
	} {
		if !reflect.DeepEqual(part.got, part.want) {
			t.Errorf("%s = %+v, want %+v", name, part.got, part.want)
		}
	}
	if got.FeatureGate != want.FeatureGate {
		t.Error("the feature gates are others")
	}
	if o.EmbeddedEtcd() {
		t.Error("the embedded etcd is chosen although servers are given")
	}
}

// TestCompleteLeavesTheOptionsAlone: completed again, the options choose the same
// etcd.
func TestCompleteLeavesTheOptionsAlone(t *testing.T) {
	o, err := NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		completed, err := o.Complete()
		if err != nil {
			t.Fatal(err)
		}
		if !completed.EmbeddedEtcd() {
			t.Error("the embedded etcd is not chosen although no servers are given")
		}
	}
	if servers := o.Recommended.Etcd.StorageConfig.Transport.ServerList; len(servers) != 0 {
		t.Errorf("etcd servers = %v, want none", servers)
	}
}
