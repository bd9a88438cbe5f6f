package devcluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// checker asks components whether they are ready, verifying who answers.
type checker struct {
	components, store, websiteStore, proxy *http.Client
}

func newChecker(c *credentials) (*checker, error) {
	components, err := httpsClient(c.serving, c.admin)
	if err != nil {
		return nil, err
	}
	store, err := httpsClient(c.etcd, c.etcdClient)
	if err != nil {
		return nil, err
	}
	websiteStore, err := httpsClient(c.websiteEtcd, c.websiteEtcdClient)
	if err != nil {
		return nil, err
	}
	proxy, err := httpsClient(c.serving, c.proxyClient)
	if err != nil {
		return nil, err
	}
	return &checker{components: components, store: store, websiteStore: websiteStore, proxy: proxy}, nil
}

func httpsClient(ca, client *keyPair) (*http.Client, error) {
	cert, err := tls.X509KeyPair(client.certPEM, client.keyPEM)
	if err != nil {
		return nil, fmt.Errorf("loading the client certificate for health checks: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		// A connection kept from before a restart would answer for a dead process.
		DisableKeepAlives: true,
	}}, nil
}

func (c *checker) url(ctx context.Context, url string) error  { return get(ctx, c.components, url) }
func (c *checker) etcd(ctx context.Context, url string) error { return get(ctx, c.store, url) }
func (c *checker) websiteEtcd(ctx context.Context, url string) error {
	return get(ctx, c.websiteStore, url)
}

// proxied asks as kube-apiserver does on behalf of a user. It fails until the server
// knows whom to trust as a proxy, and takes everybody for anonymous.
func (c *checker) proxied(ctx context.Context, url string) error {
	return get(ctx, c.proxy, url, "X-Remote-User", adminUser, "X-Remote-Group", mastersGroup)
}

// get succeeds if url answers 200; otherwise its error holds what it answered. headers
// are names and values in turn.
func get(ctx context.Context, client *http.Client, url string, headers ...string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return err // names the URL itself
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, 16<<10))
	return fmt.Errorf("%s answers %s: %s", url, response.Status, failedChecks(string(body)))
}

// failedChecks shortens the answer of a Kubernetes health endpoint, which lists all
// checks with [+] or [-], to those that failed.
func failedChecks(body string) string {
	var failed []string
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "[-]") {
			failed = append(failed, strings.TrimSpace(line))
		}
	}
	if len(failed) > 0 {
		return strings.Join(failed, ", ")
	}
	return strings.TrimSpace(body)
}
