package routeprobe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// commitHeader is the response header in which nginx in the pods names the commit.
const commitHeader = "Website-Commit"

// maxHeader is more than most proxies accept, and limits the memory that other servers can use:
// requests go to 256 hosts at the same time, and by default 10 MiB are read for each. A site may send
// 100 headers, of 4 KiB each.
const maxHeader = 64 << 10

// commitName is a full SHA-1 or SHA-256.
var commitName = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// requester makes the requests of a probe.
type requester struct {
	resolver Resolver
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	now      func() time.Time
}

// Resolver looks up names.
type Resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
}

// probe returns the result for a host: at the first Gateway that does not serve it, or else at the
// first one. An unresponsive Gateway takes no more than its share of the time.
func (r *requester) probe(ctx context.Context, host Host) Result {
	if len(host.Gateways) == 0 {
		return Result{Failure: "no listener takes requests for the host"}
	}
	var found Result
	for i, gateway := range host.Gateways {
		bounded, cancel := shareOf(ctx, len(host.Gateways)-i)
		result := r.probeAt(bounded, gateway, host)
		cancel()
		expiration := earlier(found.CertificateExpiration, result.CertificateExpiration)
		if i == 0 || found.Failure == "" && result.Failure != "" {
			found = result
		}
		found.CertificateExpiration = expiration
	}
	found.DNS = r.elsewhere(ctx, host.addresses(), host.Name)
	return found
}

// earlier returns the first of two times. Either may be zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// probeAt returns the result at the first endpoint of a Gateway that serves a host, or at the first
// endpoint if none does.
func (r *requester) probeAt(ctx context.Context, gateway Gateway, host Host) Result {
	first := Result{Failure: "no listener takes requests for the host"}
	for i, endpoint := range gateway.Endpoints {
		bounded, cancel := shareOf(ctx, len(gateway.Endpoints)-i)
		result := r.request(bounded, gateway.Addresses, host, endpoint)
		cancel()
		if result.Failure == "" {
			return result
		}
		if i == 0 {
			first = result
		}
	}
	if gateway.Name != "" {
		first.Failure = gateway.Name + ": " + first.Failure
	}
	return first
}

func (r *requester) request(ctx context.Context, addresses []string, host Host, endpoint Endpoint) Result {
	if len(addresses) == 0 {
		return Result{Failure: "the Gateway or Ingress has no address yet"}
	}
	var result Result
	transport := &http.Transport{
		// The connection is to the address, never to the host. The context of the transport has no
		// deadline.
		DialContext: func(_ context.Context, network, _ string) (net.Conn, error) {
			return r.dialFirst(ctx, network, addresses, endpoint.Port)
		},
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxHeader,
		// The certificate is verified below, for the message and without a chain: the CAs that
		// visitors trust are not known here.
		TLSClientConfig: &tls.Config{ServerName: host.Name, InsecureSkipVerify: true}, //nolint:gosec
		Proxy:           nil,
	}
	defer transport.CloseIdleConnections()
	transport.TLSClientConfig.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errNoCertificate
		}
		certificate := state.PeerCertificates[0]
		result.CertificateExpiration = certificate.NotAfter
		return r.verify(certificate, host.Name)
	}
	site := siteURL(host.Name, endpoint)
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, site+"/", nil)
	if err != nil {
		result.Failure = err.Error()
		return result
	}
	request.Header.Set("User-Agent", "website-controller")
	response, err := transport.RoundTrip(request)
	if err != nil {
		var invalid *certificateError
		result.InvalidCertificate = errors.As(err, &invalid)
		result.Failure = failureOf(site, err)
		return result
	}
	_ = response.Body.Close()
	result.judge(response, host, site)
	return result
}

// shareOf returns a context with an equal share of the time that is left for a number of attempts.
func shareOf(ctx context.Context, attempts int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(attempts))
}

// dialFirst connects to the first of some addresses that accepts.
func (r *requester) dialFirst(ctx context.Context, network string, addresses []string, port int32) (net.Conn, error) {
	var errs []error
	for i, address := range addresses {
		// The request after the connection needs some time as well.
		bounded, cancel := shareOf(ctx, len(addresses)-i+1)
		connection, err := r.dial(bounded, network, net.JoinHostPort(address, strconv.Itoa(int(port))))
		cancel()
		if err == nil {
			return connection, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// judge decides whether a response comes from the Website.
func (result *Result) judge(response *http.Response, host Host, site string) {
	if host.RedirectedTo != "" {
		location, err := url.Parse(response.Header.Get("Location"))
		if response.StatusCode/100 == 3 && err == nil && location.Hostname() == host.RedirectedTo {
			result.URL = site
			return
		}
		result.Failure = fmt.Sprintf("%s answers with status %d instead of a redirect to %s", site, response.StatusCode,
			host.RedirectedTo)
		return
	}
	commit := response.Header.Get(commitHeader)
	if !commitName.MatchString(commit) {
		result.Failure = fmt.Sprintf("%s answers with status %d, and not from a pod of the site", site, response.StatusCode)
		return
	}
	result.URL, result.Commit = site, commit
}

// certificateError is the reason why a certificate is invalid for a host.
type certificateError struct{ message string }

func (e *certificateError) Error() string { return e.message }

var errNoCertificate = &certificateError{"the server presents no certificate"}

// verify checks the names and the time of a certificate.
func (r *requester) verify(certificate *x509.Certificate, host string) error {
	switch now := r.now(); {
	case now.After(certificate.NotAfter):
		return &certificateError{
			fmt.Sprintf("the certificate expired at %s", certificate.NotAfter.UTC().Format(time.RFC3339)),
		}
	case now.Before(certificate.NotBefore):
		return &certificateError{
			fmt.Sprintf("the certificate is valid from %s", certificate.NotBefore.UTC().Format(time.RFC3339)),
		}
	}
	if err := certificate.VerifyHostname(host); err != nil {
		return &certificateError{"the certificate is for other names"}
	}
	return nil
}

// failureOf returns the message of an error for a status. It omits parts that change with each try,
// such as local ports, and unprintable characters.
func failureOf(site string, err error) string {
	var invalid *certificateError
	var operation *net.OpError
	message := err.Error()
	switch {
	case errors.As(err, &invalid):
		message = invalid.message
	case errors.Is(err, context.DeadlineExceeded):
		message = "no answer in time"
	case errors.As(err, &operation) && operation.Addr != nil:
		message = fmt.Sprintf("%s: %v", operation.Addr, operation.Err)
	}
	message = strings.Map(func(character rune) rune {
		if unicode.IsPrint(character) {
			return character
		}
		return ' '
	}, message)
	const maxLength = 512
	if len(message) > maxLength {
		message = strings.ToValidUTF8(message[:maxLength], "") + "..."
	}
	return site + " is unreachable: " + message
}

func siteURL(host string, endpoint Endpoint) string {
	scheme, usual := "http", int32(80)
	if endpoint.TLS {
		scheme, usual = "https", 443
	}
	if endpoint.Port != usual {
		host = net.JoinHostPort(host, strconv.Itoa(int(endpoint.Port)))
	}
	return scheme + "://" + host
}
