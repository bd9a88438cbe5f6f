package devcluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// checker probes components for readiness, over connections that verify the server.
type checker struct {
	components, store, proxy *http.Client
}

func newChecker(c *credentials) (*checker, error) {
	var check checker
	for client, trust := range map[**http.Client]struct{ ca, pair *keyPair }{
		&check.components: {c.cluster, c.admin},
		&check.store:      {c.etcd, c.etcdClient},
		&check.proxy:      {c.cluster, c.proxyClient},
	} {
		config, err := clientTLS(trust.ca, trust.pair)
		if err != nil {
			return nil, err
		}
		// A connection from before a restart would reach the previous process.
		*client = &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	}
	return &check, nil
}

// clientTLS verifies servers by ca and authenticates with pair.
func clientTLS(ca, pair *keyPair) (*tls.Config, error) {
	config, err := rest.TLSConfigFor(
		&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: ca.certPEM, CertData: pair.certPEM, KeyData: pair.keyPEM}},
	)
	if err != nil {
		return nil, fmt.Errorf("loading the client certificate of %s: %w", pair.cert.Subject.CommonName, err)
	}
	return config, nil
}

func (c *checker) url(ctx context.Context, url string) error  { return get(ctx, c.components, url) }
func (c *checker) etcd(ctx context.Context, url string) error { return get(ctx, c.store, url) }

// proxied probes as kube-apiserver does for a user. It fails until the server has loaded
// the request-header client CA: until then the user is anonymous.
func (c *checker) proxied(ctx context.Context, url string) error {
	return get(ctx, c.proxy, url, "X-Remote-User", adminUser, "X-Remote-Group", mastersGroup)
}

// get succeeds if url answers 200; otherwise its error contains the response. headers
// are names and values in turn.
func get(ctx context.Context, client *http.Client, url string, headers ...string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("requesting %s: %w", url, err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return err // the error names the URL
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, 16<<10))
	return &statusError{url: url, status: response.Status, checks: failedChecks(string(body))}
}

// statusError is a response with another status than 200.
type statusError struct{ url, status, checks string }

func (e *statusError) Error() string {
	return fmt.Sprintf("%s answers %s: %s", e.url, e.status, e.checks)
}

// failedChecks reduces the response of a Kubernetes health endpoint, which lists
// all checks with [+] or [-], to the failed ones.
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
