package trust

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	testingclock "k8s.io/utils/clock/testing"
)

// lifetime is the validity of a test's certificates from now.
const lifetime = time.Hour

// signer is a certificate with its key.
type signer struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// newSigner returns a certificate signed by issuer; nil: self-signed.
func newSigner(t testing.TB, issuer *signer, key crypto.Signer, template x509.Certificate) *signer {
	t.Helper()
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore = time.Now().Add(-time.Hour)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(lifetime)
	}
	made := &signer{key: key}
	if issuer == nil {
		issuer = &signer{&template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, issuer.certificate, key.Public(), issuer.key)
	if err != nil {
		t.Fatal(err)
	}
	if made.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return made
}

func newECDSAKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newRSAKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newAuthority(t testing.TB, issuer *signer, notAfter time.Time) *signer {
	t.Helper()
	return newSigner(t, issuer, newECDSAKey(t), x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, NotAfter: notAfter,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
}

func newClientCertificate(t testing.TB, issuer *signer, usage x509.ExtKeyUsage) *x509.Certificate {
	t.Helper()
	return newSigner(t, issuer, newECDSAKey(t),
		x509.Certificate{Subject: pkix.Name{CommonName: "front-proxy"}, ExtKeyUsage: []x509.ExtKeyUsage{usage}}).certificate
}

func (s *signer) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.certificate.Raw}))
}

// proxied returns a request of the user u, as the front proxy sends it.
func proxied(presented ...*x509.Certificate) *http.Request {
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.TLS = &tls.ConnectionState{PeerCertificates: presented}
	request.Header = http.Header{"X-Remote-User": {"u"}, "X-Remote-Uid": {"1"}, "X-Remote-Group": {"g", "h"},
		"X-Remote-Extra-Scopes": {"s"}, "Accept": {"*/*"}}
	return request
}

// proxy is an authenticator with the parts that a test changes.
type proxy struct {
	authenticator.Request
	ca      authority
	allowed []string
	clock   *testingclock.FakePassiveClock
}

func (p *proxy) config() *authenticatorfactory.RequestHeaderConfig {
	return &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   &p.ca,
		UsernameHeaders:     headerrequest.StaticStringSlice{"X-Remote-User"},
		UIDHeaders:          headerrequest.StaticStringSlice{"X-Remote-Uid"},
		GroupHeaders:        headerrequest.StaticStringSlice{"X-Remote-Group"},
		ExtraHeaderPrefixes: headerrequest.StaticStringSlice{"X-Remote-Extra-"},
		AllowedClientNames:  headerrequest.StringSliceProviderFunc(func() []string { return p.allowed }),
	}
}

func (p *proxy) trust(ca string) error {
	parsed, err := parse(ca)
	p.ca.bundle.Store(parsed)
	return err
}

func newProxy(t testing.TB, ca string) *proxy {
	t.Helper()
	p := &proxy{clock: testingclock.NewFakePassiveClock(time.Now())}
	p.Request = NewFrontProxyAuthenticator(p.config(), p.clock)
	if err := p.trust(ca); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestVerifiedCertificateIsNotTrustedForever verifies a certificate, makes a change, and
// presents the certificate again, or another one.
func TestVerifiedCertificateIsNotTrustedForever(t *testing.T) {
	root, other := newAuthority(t, nil, time.Time{}), newAuthority(t, nil, time.Time{})
	short := newAuthority(t, root, time.Now().Add(lifetime/2))
	brief := newAuthority(t, nil, time.Now().Add(lifetime/2))
	ofBrief := newClientCertificate(t, brief, x509.ExtKeyUsageClientAuth)
	client := newClientCertificate(t, root, x509.ExtKeyUsageClientAuth)
	chain := []*x509.Certificate{newClientCertificate(t, short, x509.ExtKeyUsageClientAuth),
		short.certificate}
	tests := map[string]struct {
		ca        *signer
		presented []*x509.Certificate
		change    func(*proxy)
		// next is presented after the change; nil: the same.
		next []*x509.Certificate
		// refused is set if an error is expected then, unknown if neither a user nor an
		// error is.
		refused, unknown bool
	}{
		"no change":                     {change: func(*proxy) {}},
		"the verification is repeated":  {change: func(p *proxy) { p.clock.SetTime(p.clock.Now().Add(lifetime / 2)) }},
		"another CA":                    {change: func(p *proxy) { _ = p.trust(other.pem()) }, refused: true},
		"another CA beside it":          {change: func(p *proxy) { _ = p.trust(root.pem() + other.pem()) }},
		"no CA":                         {change: func(p *proxy) { _ = p.trust("") }, unknown: true},
		"another name is allowed":       {change: func(p *proxy) { p.allowed = []string{"another"} }, refused: true},
		"its name is among the allowed": {change: func(p *proxy) { p.allowed = []string{"another", "front-proxy"} }},
		"it has expired": {change: func(p *proxy) { p.clock.SetTime(p.clock.Now().Add(2 * lifetime)) },
			refused: true},
		"an intermediate is about to expire": {
			presented: chain, change: func(p *proxy) { p.clock.SetTime(short.certificate.NotAfter.Add(-time.Second)) },
		},
		"an intermediate expired a moment ago": {
			presented: chain, refused: true, change: func(p *proxy) {
				expireAfterUse(t, p, short.certificate.NotAfter, chain...)
			},
		},
		"the CA expired a moment ago": {
			ca: brief, presented: []*x509.Certificate{ofBrief}, refused: true,
			change: func(p *proxy) { expireAfterUse(t, p, brief.certificate.NotAfter, ofBrief) },
		},
		"it expired a moment ago": {
			refused: true, change: func(p *proxy) { expireAfterUse(t, p, client.NotAfter, client) },
		},
		"without its intermediate": {presented: chain, change: func(*proxy) {}, next: chain[:1], refused: true},
		"another certificate of another CA": {
			change: func(*proxy) {}, next: []*x509.Certificate{newClientCertificate(t, other, x509.ExtKeyUsageClientAuth)},
			refused: true,
		},
		"a certificate for servers": {change: func(*proxy) {},
			next: []*x509.Certificate{newClientCertificate(t, root, x509.ExtKeyUsageServerAuth)}, refused: true},
		"no certificate": {change: func(*proxy) {}, next: []*x509.Certificate{}, unknown: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.ca == nil {
				test.ca = root
			}
			if test.presented == nil {
				test.presented = []*x509.Certificate{client}
			}
			if test.next == nil {
				test.next = test.presented
			}
			p := newProxy(t, test.ca.pem())
			if _, ok, err := p.AuthenticateRequest(proxied(test.presented...)); !ok || err != nil {
				t.Fatalf("before the change: %t, %v", ok, err)
			}
			test.change(p)
			_, ok, err := p.AuthenticateRequest(proxied(test.next...))
			if (err != nil) != test.refused || ok != (!test.refused && !test.unknown) {
				t.Errorf("authenticated %t, error %v; want refused %t, unknown %t", ok, err, test.refused, test.unknown)
			}
		})
	}
}

// expireAfterUse presents certificates shortly before one of them expires, and moves the clock
// shortly beyond that.
func expireAfterUse(t *testing.T, p *proxy, expires time.Time, presented ...*x509.Certificate) {
	t.Helper()
	p.clock.SetTime(expires.Add(-time.Second))
	if _, ok, err := p.AuthenticateRequest(proxied(presented...)); !ok || err != nil {
		t.Fatalf("shortly before it expires: %t, %v", ok, err)
	}
	p.clock.SetTime(expires.Add(time.Second))
}

// TestProxiedUser compares the user, and the remaining headers, with
// k8s.io/apiserver's, for the first request and for one with a
// verified certificate.
func TestProxiedUser(t *testing.T) {
	root := newAuthority(t, nil, time.Time{})
	client := newClientCertificate(t, root, x509.ExtKeyUsageClientAuth)
	p := newProxy(t, root.pem())
	p.allowed = []string{"front-proxy"}
	c := p.config()
	upstream := headerrequest.NewDynamicVerifyOptionsSecure(c.CAContentProvider.VerifyOptions, c.AllowedClientNames,
		c.UsernameHeaders, c.UIDHeaders, c.GroupHeaders, c.ExtraHeaderPrefixes)
	want := proxied(client)
	expected, _, err := upstream.AuthenticateRequest(want)
	if err != nil {
		t.Fatal(err)
	}
	if expected.User.GetName() != "u" ||
		!reflect.DeepEqual(expected.User.GetExtra(), map[string][]string{"scopes": {"s"}}) {
		t.Fatalf("unexpected user %+v", expected.User)
	}
	for range 2 {
		request := proxied(client)
		got, ok, err := p.AuthenticateRequest(request)
		if err != nil || !ok || !reflect.DeepEqual(got.User.(*user.DefaultInfo), expected.User) ||
			!reflect.DeepEqual(request.Header, want.Header) {
			t.Errorf("got %+v with headers %v (%t, %v), want %+v with %v", got, request.Header, ok, err, expected, want.Header)
		}
	}
	anonymous := proxied(client)
	anonymous.Header.Del("X-Remote-User")
	if _, ok, err := p.AuthenticateRequest(anonymous); ok || err != nil {
		t.Errorf("without a user: %t, %v", ok, err)
	}
}

func TestVerificationsAreBounded(t *testing.T) {
	root := newAuthority(t, nil, time.Time{})
	p := newProxy(t, root.pem())
	for range maxVerified + 1 {
		if _, ok, err := p.AuthenticateRequest(
			proxied(newClientCertificate(t, root, x509.ExtKeyUsageClientAuth)),
		); !ok || err != nil {
			t.Fatalf("%t, %v", ok, err)
		}
	}
	if got := len(p.Request.(*frontProxy).verified.Keys()); got != maxVerified {
		t.Errorf("%d verifications are kept, want %d", got, maxVerified)
	}
}

// BenchmarkProxiedRequest authenticates requests of one connection, beside the authenticator of
// k8s.io/apiserver.
func BenchmarkProxiedRequest(b *testing.B) {
	for name, newKey := range map[string]func(testing.TB) crypto.Signer{"RSA": newRSAKey, "ECDSA": newECDSAKey} {
		root := newSigner(b, nil, newKey(b), x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, IsCA: true,
			BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
		client := newSigner(b, root, newKey(b), x509.Certificate{Subject: pkix.Name{CommonName: "front-proxy"},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}).certificate
		p := newProxy(b, root.pem())
		c := p.config()
		for authenticatorName, a := range map[string]authenticator.Request{
			"upstream": headerrequest.NewDynamicVerifyOptionsSecure(c.CAContentProvider.VerifyOptions, c.AllowedClientNames,
				c.UsernameHeaders, c.UIDHeaders, c.GroupHeaders, c.ExtraHeaderPrefixes),
			"ours": p.Request,
		} {
			b.Run(name+"/"+authenticatorName, func(b *testing.B) {
				headers := proxied(client).Header
				request := proxied(client)
				b.ReportAllocs()
				for b.Loop() {
					request.Header = headers.Clone()
					if _, ok, err := a.AuthenticateRequest(request); !ok || err != nil {
						b.Fatal(ok, err)
					}
				}
			})
		}
	}
}
