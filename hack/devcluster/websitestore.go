package devcluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
)

// websiteEtcd is the store of website-apiserver where Options.ExternalEtcd asks for it.
// It is the etcd that Kubernetes of this version is released with.
func (p *plan) websiteEtcd() spec {
	ports := p.settings.Ports
	return p.etcdMember(websiteEtcd, websiteEtcdCA, p.layout.websiteEtcdData(), ports.WebsiteEtcd, ports.WebsiteEtcdPeer, p.check.websiteEtcd)
}

// websiteStoreArgs tell website-apiserver where to keep its objects.
func (p *plan) websiteStoreArgs() []string {
	if !p.options.ExternalEtcd {
		return []string{"--data-dir=" + p.settings.WebsiteData}
	}
	l := p.layout
	return []string{
		"--etcd-servers=" + httpsURL(p.settings.Ports.WebsiteEtcd),
		"--etcd-cafile=" + l.cert(websiteEtcdCA), "--etcd-certfile=" + l.cert(websiteEtcdClient), "--etcd-keyfile=" + l.key(websiteEtcdClient),
	}
}

// websiteStoreInputs are the files that these flags name.
func (p *plan) websiteStoreInputs() []string {
	if !p.options.ExternalEtcd {
		return nil
	}
	return []string{p.layout.cert(websiteEtcdCA), p.layout.cert(websiteEtcdClient)}
}

// WebsiteEtcd is the URL of the store that Options.ExternalEtcd asks for, and the client
// certificate and authority that it takes to read it.
func (c *Cluster) WebsiteEtcd() (url string, config *tls.Config, err error) {
	pair := c.credentials.websiteEtcdClient
	certificate, err := tls.X509KeyPair(pair.certPEM, pair.keyPEM)
	if err != nil {
		return "", nil, fmt.Errorf("loading the client certificate of %s: %w", websiteEtcd, err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c.credentials.websiteEtcd.cert)
	return httpsURL(c.Ports().WebsiteEtcd), &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil
}

// WebsiteEtcdDataDir is where the store that Options.ExternalEtcd asks for keeps its data.
func (c *Cluster) WebsiteEtcdDataDir() string { return c.plan.layout.websiteEtcdData() }

// StartAPIServer starts a further website-apiserver, under a name of its own, on a free
// port, with the flags of the first one followed by extraArgs. It returns where the server
// listens; no APIService leads there. It does not wait until the server is ready, which
// some never should be. Stop stops it with the others.
//
// The store is that of the first one, unless extraArgs name --etcd-servers. Give it
// another --data-dir, as two cannot share one, or with Options.ExternalEtcd another
// --etcd-prefix, unless it shall serve the same Websites.
func (c *Cluster) StartAPIServer(ctx context.Context, name string, extraArgs ...string) (p *Process, url string, err error) {
	port, err := c.portFor(name, websiteAPIServer)
	if err != nil {
		return nil, "", err
	}
	p = c.add(c.plan.websiteAPIServer(name, port, extraArgs...))
	return p, httpsURL(port), p.Start(ctx)
}
