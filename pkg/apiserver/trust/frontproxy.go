package trust

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/utils/clock"
)

const (
	// verifiedFor is the validity of a verification, like a token review's.
	verifiedFor = 10 * time.Second
	// maxVerified exceeds the number of certificates of a cluster's kube-apiservers.
	maxVerified = 64
)

// frontProxy authenticates the users that the front proxy names in request headers.
type frontProxy struct {
	config  *authenticatorfactory.RequestHeaderConfig
	headers authenticator.Request
	// verified has the verified certificates, each with its CA.
	verified *cache.LRUExpireCache
	clock    clock.PassiveClock
}

// verification has all inputs of a certificate's validity except the time.
type verification struct {
	// presented is the hash of the certificates that the client presented.
	presented [sha256.Size]byte
	// roots is another pool after each change of the CA.
	roots *x509.CertPool
}

// NewFrontProxyAuthenticator returns the request-header authenticator of k8s.io/apiserver,
// except that it verifies a certificate once in ten seconds instead of for each request: for
// short requests, that is the largest part of their authentication. A change of the CA or of
// the allowed names, and the expiry of any certificate of the chain, take effect at once.
func NewFrontProxyAuthenticator(config *authenticatorfactory.RequestHeaderConfig,
	clock clock.PassiveClock) authenticator.Request {
	return &frontProxy{
		config: config,
		headers: headerrequest.NewDynamic(config.UsernameHeaders, config.UIDHeaders, config.GroupHeaders,
			config.ExtraHeaderPrefixes),
		verified: cache.NewLRUExpireCacheWithClock(maxVerified, clock),
		clock:    clock,
	}
}

// AuthenticateRequest returns no user, and no error, for a client without a certificate and
// while there is no CA.
func (p *frontProxy) AuthenticateRequest(request *http.Request) (*authenticator.Response, bool, error) {
	if request.TLS == nil || len(request.TLS.PeerCertificates) == 0 {
		return nil, false, nil
	}
	options, ok := p.config.CAContentProvider.VerifyOptions()
	if !ok {
		return nil, false, nil
	}
	presented := request.TLS.PeerCertificates
	if err := p.verify(presented, options); err != nil {
		return nil, false, err
	}
	allowed, name := p.config.AllowedClientNames.Value(), presented[0].Subject.CommonName
	if len(allowed) > 0 && !slices.Contains(allowed, name) {
		return nil, false, fmt.Errorf("the common name %q of the client certificate is not among the allowed names of the "+
			"front proxy", name)
	}
	return p.headers.AuthenticateRequest(request)
}

// verify returns the reason why the first of the presented certificates is invalid; the
// others are intermediates.
func (p *frontProxy) verify(presented []*x509.Certificate, options x509.VerifyOptions) error {
	key := verification{presented: digest(presented), roots: options.Roots}
	if _, ok := p.verified.Get(key); ok {
		return nil
	}
	now := p.clock.Now()
	options.CurrentTime = now
	if options.Intermediates == nil && len(presented) > 1 {
		options.Intermediates = x509.NewCertPool()
		for _, intermediate := range presented[1:] {
			options.Intermediates.AddCert(intermediate)
		}
	}
	chains, err := presented[0].Verify(options)
	if err != nil {
		return fmt.Errorf("verifying the client certificate as the front proxy's: %w", err)
	}
	p.verified.Add(key, nil, min(verifiedFor, expiry(chains).Sub(now)))
	return nil
}

// digest needs no separators: each certificate in DER begins with its length.
func digest(certificates []*x509.Certificate) (sum [sha256.Size]byte) {
	hash := sha256.New()
	for _, certificate := range certificates {
		hash.Write(certificate.Raw)
	}
	hash.Sum(sum[:0])
	return sum
}

// expiry returns the expiration time of the chain that is valid longest.
func expiry(chains [][]*x509.Certificate) (last time.Time) {
	for _, chain := range chains {
		first := slices.MinFunc(chain, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
		if first.NotAfter.After(last) {
			last = first.NotAfter
		}
	}
	return last
}
