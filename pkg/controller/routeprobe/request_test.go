package routeprobe

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	testCommit = strings.Repeat("0a", 20)
	testNow    = time.Now()
)

// names resolves hosts. A host that is not in it does not exist.
type names map[string][]string

func (n names) LookupHost(_ context.Context, host string) ([]string, error) {
	host, isAbsolute := strings.CutSuffix(host, ".")
	if !isAbsolute {
		return []string{"192.0.2.99"}, nil // A search domain has a record for any name.
	}
	if addresses, found := n[host]; found {
		return addresses, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// certificateOf returns a self-signed certificate for a name.
func certificateOf(t *testing.T, name string, begins, ends time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: begins, NotAfter: ends}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func serving(header, value string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if header != "" {
			w.Header().Set(header, value)
		}
		w.WriteHeader(status)
	}
}

func TestProbe(t *testing.T) {
	const host, address = "shop.example.com", "127.0.0.1"
	hour := time.Hour
	site := serving("Website-Commit", testCommit, http.StatusOK)
	tests := map[string]struct {
		handler      http.HandlerFunc
		name         string
		begins, ends time.Duration
		plain        bool
		redirectedTo string
		resolver     names
		failure, dns string
		invalid      bool
	}{
		"the site":    {handler: site, name: host, begins: -hour, ends: hour},
		"without TLS": {handler: site, plain: true},
		"a page that is absent": {handler: serving("Website-Commit", testCommit, http.StatusNotFound), name: host,
			begins: -hour, ends: hour},
		"something else": {handler: serving("", "", http.StatusOK), name: host, begins: -hour, ends: hour,
			failure: "not from a pod of the site"},
		"no commit": {handler: serving("Website-Commit", "main", http.StatusOK), name: host, begins: -hour,
			ends: hour, failure: "not from a pod of the site"},
		"expired": {handler: site, name: host, begins: -2 * hour, ends: -hour,
			failure: "the certificate expired at", invalid: true},
		"not valid yet": {handler: site, name: host, begins: hour, ends: 2 * hour,
			failure: "the certificate is valid from", invalid: true},
		"for another name": {handler: site, name: "other.example.com", begins: -hour, ends: hour,
			failure: "the certificate is for other names", invalid: true},
		"redirected": {handler: serving("Location", "https://www.example.com/", http.StatusMovedPermanently),
			name: host, begins: -hour, ends: hour, redirectedTo: "www.example.com"},
		"redirected elsewhere": {handler: serving("Location", "https://evil.example.com/", http.StatusMovedPermanently),
			name: host, begins: -hour, ends: hour, redirectedTo: "www.example.com",
			failure: "instead of a redirect to www.example.com"},
		"DNS elsewhere": {handler: site, name: host, begins: -hour, ends: hour, resolver: names{host: {"192.0.2.1"}},
			dns: "DNS of shop.example.com leads to 192.0.2.1, not to 127.0.0.1"},
		"no DNS": {handler: site, name: host, begins: -hour, ends: hour, resolver: names{},
			dns: "DNS has no address for shop.example.com"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(test.handler)
			var ends time.Time
			if test.plain {
				server.Start()
			} else {
				ends = testNow.Add(test.ends)
				server.TLS = &tls.Config{
					Certificates: []tls.Certificate{certificateOf(t, test.name, testNow.Add(test.begins), ends)},
				}
				server.StartTLS()
			}
			defer server.Close()
			resolver := test.resolver
			if resolver == nil {
				resolver = names{host: {address}}
			}
			r := &requester{resolver: resolver, dial: (&net.Dialer{}).DialContext, now: func() time.Time { return testNow }}
			port := int32(server.Listener.Addr().(*net.TCPAddr).Port)
			got := r.probe(
				t.Context(), Host{
					Name: host, Gateways: []Gateway{
						{Addresses: []string{address}, Endpoints: []Endpoint{{TLS: !test.plain, Port: port}}},
					}, RedirectedTo: test.redirectedTo,
				},
			)
			if (got.Failure == "") != (test.failure == "") || !strings.Contains(got.Failure, test.failure) ||
				got.InvalidCertificate != test.invalid {
				t.Errorf("failure %q (certificate %t), want %q (%t)", got.Failure, got.InvalidCertificate,
					test.failure, test.invalid)
			}
			if test.failure == "" && (got.URL == "" || (got.Commit == testCommit) != (test.redirectedTo == "")) {
				t.Errorf("found at %q with commit %q", got.URL, got.Commit)
			}
			if !strings.HasPrefix(got.DNS, test.dns) || (got.DNS == "") != (test.dns == "") {
				t.Errorf("DNS %q, want %q", got.DNS, test.dns)
			}
			if !got.CertificateExpiration.Equal(ends.Truncate(time.Second)) {
				t.Errorf("the certificate expires at %s, want %s", got.CertificateExpiration, ends)
			}
		})
	}
}

// countingConn counts the bytes that are read from a connection.
type countingConn struct {
	net.Conn
	read *atomic.Int64
}

func (c countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// TestLargeHeader: a server can send any header, but only maxHeader bytes are kept in memory.
func TestLargeHeader(t *testing.T) {
	const host = "shop.example.com"
	for name, test := range map[string]struct {
		size    int
		failure bool
	}{
		"of a site": {size: maxHeader / 2},
		"too large": {size: maxHeader * 64, failure: true},
	} {
		for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Proto != protocol {
					t.Errorf("requested by %s, want %s", r.Proto, protocol)
				}
				w.Header().Set(commitHeader, testCommit)
				w.Header().Set("X-Padding", strings.Repeat("x", test.size))
			}))
			server.TLS = &tls.Config{
				Certificates: []tls.Certificate{certificateOf(t, host, testNow.Add(-time.Hour), testNow.Add(time.Hour))},
			}
			server.EnableHTTP2 = protocol == "HTTP/2.0"
			server.Config.ErrorLog = log.New(io.Discard, "", 0) // It is cut off.
			server.StartTLS()
			var read atomic.Int64
			r := &requester{resolver: names{host: {"127.0.0.1"}}, now: func() time.Time { return testNow },
				dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
					return countingConn{connection, &read}, err
				}}
			port := int32(server.Listener.Addr().(*net.TCPAddr).Port)
			got := r.probe(
				t.Context(), Host{
					Name: host, Gateways: []Gateway{
						{Addresses: []string{"127.0.0.1"}, Endpoints: []Endpoint{{TLS: true, Port: port}}},
					},
				},
			)
			server.Close()
			if (got.Failure != "") != test.failure || (got.Commit == "") != test.failure {
				t.Errorf("%s by %s: failure %q, commit %q", name, protocol, got.Failure, got.Commit)
			}
			if most := int64(maxHeader * 8); read.Load() > most {
				t.Errorf("%s by %s: %d bytes were read, at most %d are wanted", name, protocol, read.Load(), most)
			}
		}
	}
}

// TestOnlyTheAddressIsDialled: the addresses to which a host resolves are not dialled.
func TestOnlyTheAddressIsDialled(t *testing.T) {
	var dialled []string
	r := &requester{resolver: names{"shop.example.com": {"169.254.169.254"}}, now: time.Now,
		dial: func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = append(dialled, address)
			return nil, net.ErrClosed
		}}
	got := r.probe(
		t.Context(), Host{
			Name: "shop.example.com", Gateways: []Gateway{{Addresses: []string{"192.0.2.1", "192.0.2.2"},
				Endpoints: []Endpoint{{TLS: true, Port: 443}, {Port: 80}}}},
		},
	)
	want := "192.0.2.1:443 192.0.2.2:443 192.0.2.1:80 192.0.2.2:80"
	if strings.Join(dialled, " ") != want || got.Failure == "" {
		t.Errorf("dialled %v with failure %q, want %s", dialled, got.Failure, want)
	}
	if got := r.probe(
		t.Context(), Host{Name: "shop.example.com", Gateways: []Gateway{{Endpoints: []Endpoint{{Port: 80}}}}},
	); !strings.Contains(got.Failure, "no address yet") {
		t.Errorf("without an address: %q", got.Failure)
	}
}

// TestSeveralGateways: a host is found if all Gateways serve it. Otherwise the first one that does
// not is named.
func TestSeveralGateways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, end := newGateway()
		defer end()
		dial := g.requester.dial
		g.requester.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "198.51.100.") {
				return nil, errors.New("refused")
			}
			return dial(ctx, network, address)
		}
		good, bad := Gateway{Name: "good", Addresses: []string{"192.0.2.1"}, Endpoints: []Endpoint{{Port: 80}}},
			Gateway{Name: "bad", Addresses: []string{"198.51.100.1"}, Endpoints: []Endpoint{{Port: 80}}}
		for name, test := range map[string]struct {
			gateways []Gateway
			url      string
			failure  string
		}{
			"both":      {[]Gateway{good, good}, "http://a.example.com", ""},
			"the last":  {[]Gateway{bad, good}, "", "bad: http://a.example.com is unreachable: refused"},
			"the first": {[]Gateway{good, bad}, "", "bad: http://a.example.com is unreachable: refused"},
			"none":      {nil, "", "no listener takes requests for the host"},
		} {
			got := g.requester.probe(t.Context(), Host{Name: "a.example.com", Gateways: test.gateways})
			if got.URL != test.url || got.Failure != test.failure {
				t.Errorf("%s: %+v, want %q, %q", name, got, test.url, test.failure)
			}
		}
	})
}

func TestEarlier(t *testing.T) {
	first, second := time.Unix(1, 0), time.Unix(2, 0)
	for _, test := range []struct{ a, b, want time.Time }{{}, {a: first, want: first}, {b: first, want: first},
		{first, second, first}, {second, first, first}} {
		if got := earlier(test.a, test.b); got != test.want {
			t.Errorf("of %v and %v: %v, want %v", test.a, test.b, got, test.want)
		}
	}
}
