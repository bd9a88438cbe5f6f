package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// host returns a host name of the Gateway's domain that no other test uses.
func (s *site) host() string { return s.namespace + "." + devcluster.HostDomain }

// throughGateway makes a transport connect to the Gateway for every host, and trust the CA of
// its certificates.
func throughGateway(t *testing.T) func(*http.Transport) {
	return func(transport *http.Transport) {
		if err := framework.Cluster.ThroughGateway(transport); err != nil {
			t.Fatal(err)
		}
	}
}

// waitRouted waits until requests for all hosts reach a site, and its status lists the URL first.
func (s *site) waitRouted(t *testing.T, url string) {
	t.Helper()
	framework.WaitCondition(t, s.namespace, s.name, v1beta1.WebsiteRouted, metav1.ConditionTrue,
		v1beta1.WebsiteReasonHostsRouted)
	w := s.get(t)
	if len(w.Status.URLs) == 0 || w.Status.URLs[0] != url {
		t.Fatalf("the URLs are %v, want %s first", w.Status.URLs, url)
	}
}

// TestMoveToHost moves a site from its node port to a host, and the host to a Website of another
// namespace, while visitors load pages: no request fails.
func TestMoveToHost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	host := s.host()
	atNodePort := startTraffic(t, s)
	s.patch(t, fmt.Sprintf(`{"spec":{"hosts":[{"name":%q}]}}`, host))
	s.waitRouted(t, "https://"+host)
	atHost := startTrafficTo(t, s, "https://"+host, throughGateway(t))

	other := applySite(
		t, newWebsite(newNamespace(t), s.repository, func(w *v1beta1.Website) { w.Spec.Hosts = framework.Hosts(host) }),
		s.repository,
	)
	framework.WaitCondition(t, other.namespace, other.name, v1beta1.WebsiteRouted, metav1.ConditionFalse,
		v1beta1.WebsiteReasonHostTaken)
	framework.WaitCondition(t, other.namespace, other.name, v1beta1.WebsiteAvailable, metav1.ConditionTrue,
		v1beta1.WebsiteReasonMinimumReplicasAvailable)

	atNodePort.finish(t)
	s.patch(t, `{"spec":{"service":{"type":"ClusterIP"}}}`)
	framework.WaitFor(t, "the node port is released", func(ctx context.Context) error {
		if url, err := framework.Cluster.NodePortURL(ctx, s.namespace, s.deployment+"-npsvc"); err == nil {
			return fmt.Errorf("there is %s", url)
		}
		return nil
	})
	s.patch(t, `{"spec":{"hosts":null}}`)
	other.waitRouted(t, "https://"+host)
	s.kubectl(t, "delete", "website", s.name)
	framework.WaitFor(t, "the former site is gone", func(ctx context.Context) error {
		pods, err := s.pods(ctx, framework.Admin(t).Kubernetes)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("there are %d pods", len(pods))
		}
		return err
	})
	atHost.finish(t)
}

// TestRedirectsOfHosts: with a certificate, HTTP requests are redirected to HTTPS, and requests
// for other hosts to the canonical one.
func TestRedirectsOfHosts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	canonical, host := "www-"+s.host(), s.host()
	s.patch(t, fmt.Sprintf(`{"spec":{"hosts":[{"name":%q,"role":"Canonical"},{"name":%q,"role":"Redirect"}],`+
		`"tls":{"mode":"Listener"}}}`, canonical, host))
	s.waitRouted(t, "https://"+canonical)
	transport := &http.Transport{DisableKeepAlives: true}
	throughGateway(t)(transport)
	client := &http.Client{Transport: transport, Timeout: visitor.Timeout, CheckRedirect: visitor.CheckRedirect}
	for url, want := range map[string]string{
		"http://" + canonical + "/page.html": "https://" + canonical + "/page.html",
		"http://" + host + "/?q=1":           "https://" + canonical + "/?q=1",
		"https://" + host + "/page.html":     "https://" + canonical + "/page.html",
	} {
		// The Gateway loads one route after the other, possibly the canonical host's first.
		framework.WaitFor(t, url+" is redirected", func(ctx context.Context) error {
			if a := get(ctx, client, url); a.err != nil || a.status != http.StatusMovedPermanently ||
				a.header.Get("Location") != want {
				return fmt.Errorf("it is %v and leads to %q, want a redirect to %s", a, a.header.Get("Location"), want)
			}
			return nil
		})
	}
	if a := get(t.Context(), client, "https://"+canonical+"/"); a.status != http.StatusOK ||
		a.header.Get(commitHeader) == "" {
		t.Errorf("the canonical host is %v", a)
	}
}

// putCertificate creates or replaces the Secret "certificate" of a site with a new certificate
// for hosts, which it returns.
func (s *site) putCertificate(t *testing.T, hosts ...string) *x509.Certificate {
	t.Helper()
	certificate, key, err := framework.Cluster.NewHostCertificate(hosts...)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	certificateFile, keyFile := filepath.Join(directory, "tls.crt"), filepath.Join(directory, "tls.key")
	if err := errors.Join(os.WriteFile(certificateFile, certificate, 0o600),
		os.WriteFile(keyFile, key, 0o600)); err != nil {
		t.Fatal(err)
	}
	secret := s.kubectl(t, "create", "secret", "tls", "certificate", "--cert="+certificateFile, "--key="+keyFile,
		"--dry-run=client", "--output=json")
	framework.KubectlWith(t, framework.Stdin(secret), "apply", "--namespace="+s.namespace, "--filename=-")
	block, _ := pem.Decode(certificate)
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestCertificateIsReplaced replaces the certificate of a host in the Secret of an Ingress,
// while visitors load pages: no request fails, and the status has the expiration time of the
// new one.
func TestCertificateIsReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	host := s.host()
	certificate := s.putCertificate(t, host)
	s.patch(t, fmt.Sprintf(`{"spec":{"hosts":[{"name":%q}],"routing":{"ingressClassName":"traefik"},`+
		`"tls":{"mode":"Secret","secretRef":{"name":"certificate"}}}}`, host))
	s.waitRouted(t, "https://"+host)
	visitors := startTrafficTo(t, s, "https://"+host, throughGateway(t))
	for range 2 {
		waitCertificate(t, host, certificate)
		certificate = s.putCertificate(t, host)
	}
	waitCertificate(t, host, certificate)
	framework.WaitFor(t, "the status has the expiration time of the new certificate", func(context.Context) error {
		hosts := s.get(t).Status.Hosts
		if len(hosts) != 1 || hosts[0].CertificateExpirationTime == nil ||
			!hosts[0].CertificateExpirationTime.Time.Equal(certificate.NotAfter) {
			return fmt.Errorf("the hosts are %+v, want %s", hosts, certificate.NotAfter)
		}
		return nil
	})
	visitors.finish(t)
}

// waitCertificate waits until new connections for a host get a certificate.
func waitCertificate(t *testing.T, host string, want *x509.Certificate) {
	t.Helper()
	framework.WaitFor(t, "the certificate is served", func(ctx context.Context) error {
		// The certificate is compared, not verified.
		dialer := tls.Dialer{Config: &tls.Config{ServerName: host, InsecureSkipVerify: true}}
		connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(framework.Cluster.NodeAddress(), "443"))
		if err != nil {
			return err
		}
		served := connection.(*tls.Conn).ConnectionState().PeerCertificates
		if err := connection.Close(); err != nil {
			return err
		}
		if !slices.ContainsFunc(served, func(c *x509.Certificate) bool { return bytes.Equal(c.Raw, want.Raw) }) {
			return fmt.Errorf("another one is served, valid until %s", served[0].NotAfter)
		}
		return nil
	})
}
