package options

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/cert"
)

func trust(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"}, Data: data}
}

// TestClientCAOfTheCluster goes from a cluster that has published nothing to one
// whose clients are known.
func TestClientCAOfTheCluster(t *testing.T) {
	ctx := t.Context()
	client := fake.NewClientset()
	clientCA, err := newClientCA(client)
	if err != nil {
		t.Fatal(err)
	}
	published := func(ctx context.Context) (bool, error) { return clientCAPublished(ctx, client) }
	check := newClientTrustCheck(clientCA, published)
	if _, err := published(ctx); !apierrors.IsNotFound(err) {
		t.Errorf("without the ConfigMap: %v, want that it is not found", err)
	}
	if err := check.Check(probe(t)); err == nil {
		t.Error("ready although nobody knows whether there are clients to trust")
	}

	pem, _, err := cert.GenerateSelfSignedCertKey("clients", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps("kube-system").Create(ctx, trust(map[string]string{"client-ca-file": string(pem)}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := check.Check(probe(t)); err == nil {
		t.Error("ready although the authority has not arrived")
	}
	if _, known := clientCA.VerifyOptions(); known {
		t.Fatal("the authority has arrived although nothing fetches it")
	}

	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); clientCA.Run(ctx, 1) }()
	t.Cleanup(func() { cancel(); <-done })
	if err := wait.PollUntilContextTimeout(ctx, time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		return check.Check(probe(t)) == nil, nil
	}); err != nil {
		t.Fatalf("not ready: %v", check.Check(probe(t)))
	}
	if _, known := clientCA.VerifyOptions(); !known {
		t.Error("ready although clients cannot be verified")
	}
}

func TestClusterWithoutClientCA(t *testing.T) {
	client := fake.NewClientset(trust(map[string]string{"requestheader-client-ca-file": someCA}))
	clientCA, err := newClientCA(client)
	if err != nil {
		t.Fatal(err)
	}
	check := newClientTrustCheck(clientCA, func(ctx context.Context) (bool, error) { return clientCAPublished(ctx, client) })
	if err := check.Check(probe(t)); err != nil {
		t.Errorf("not ready although there is nothing to wait for: %v", err)
	}
}

// unreachableHost is a kubeconfig file for a port on which nobody listens.
func unreachableHost(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	const config = `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"host","cluster":{"server":"http://127.0.0.1:1"}}],"contexts":[{"name":"host","context":{"cluster":"host"}}],"current-context":"host"}`
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWhoIsAskedForTheClientCA tells when the server waits for an authority of
// the cluster at all.
func TestWhoIsAskedForTheClientCA(t *testing.T) {
	kubeconfig := unreachableHost(t)
	tests := map[string]struct {
		args      []string
		wantCheck bool
		wantErr   string
	}{
		"the cluster":               {wantCheck: true, wantErr: "reading configmap kube-system/extension-apiserver-authentication"},
		"the cluster, if it can be": {args: []string{"--authentication-tolerate-lookup-failure"}, wantCheck: true},
		"a file":                    {args: []string{"--client-ca-file=/etc/clients.crt"}},
		"nobody":                    {args: []string{"--authentication-skip-lookup"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := parse(t, append([]string{"--authentication-kubeconfig=" + kubeconfig}, test.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			check, err := o.applyClientCA()
			if err != nil {
				t.Fatal(err)
			}
			if got := o.Recommended.Authentication.ClientCert.CAContentProvider != nil; (check != nil) != test.wantCheck || got != test.wantCheck {
				t.Fatalf("check %v, authority of the cluster %t; want both %t", check, got, test.wantCheck)
			}
			if check == nil {
				return
			}
			if err := check.Check(probe(t)); (err == nil) != (test.wantErr == "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("error = %v, want %q", err, test.wantErr)
			}
		})
	}
}

func TestUnreadableAuthenticationKubeconfig(t *testing.T) {
	o, err := parse(t, "--authentication-kubeconfig=/no/such/file")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.applyClientCA(); err == nil || !strings.Contains(err.Error(), "--authentication-kubeconfig: stat /no/such/file") {
		t.Errorf("error = %v, want the flag and the file", err)
	}
}
