package devcluster

import (
	"context"
	"crypto/tls"
	"path/filepath"
	"strings"
)

// websiteEtcd returns the members of website-apiserver's store with Options.ExternalEtcd.
// They have the same version as Kubernetes' etcd.
func (p *plan) websiteEtcd() []spec {
	all := p.websiteEtcdPorts()
	name := func(i int) string {
		if len(all) == 1 {
			return etcdMemberName
		}
		return replicaName(websiteEtcd, i)
	}
	var initial []string
	for i, ports := range all {
		initial = append(initial, name(i)+"="+httpsURL(ports.peer))
	}
	var specs []spec
	for i, ports := range all {
		process, data := replicaName(websiteEtcd, i), p.layout.websiteEtcdData()
		if i > 0 {
			data = filepath.Join(p.layout.websiteEtcdReplicas(), process)
		}
		specs = append(specs, p.etcdMember(etcdMember{
			name: process, member: name(i), initialCluster: strings.Join(initial, ","), data: data, port: ports.client,
			peerPort: ports.peer,
		}))
	}
	return specs
}

// websiteStoreArgs returns the flags of website-apiserver that select its store.
func (p *plan) websiteStoreArgs() []string {
	if !p.options.ExternalEtcd {
		return []string{"--data-dir=" + p.settings.WebsiteData}
	}
	l := p.layout
	return []string{
		"--etcd-servers=" + strings.Join(p.websiteEtcdURLs(), ","),
		"--etcd-cafile=" + l.cert(etcdCA), "--etcd-certfile=" + l.cert(etcdClient), "--etcd-keyfile=" + l.key(etcdClient),
	}
}

func (p *plan) websiteEtcdURLs() []string {
	var urls []string
	for _, ports := range p.websiteEtcdPorts() {
		urls = append(urls, httpsURL(ports.client))
	}
	return urls
}

// WebsiteEtcd returns the URL of the store with Options.ExternalEtcd, and the client
// certificate and CA to read it.
func (c *Cluster) WebsiteEtcd() (url string, config *tls.Config, err error) {
	config, err = clientTLS(c.credentials.etcd, c.credentials.etcdClient)
	return httpsURL(c.Ports().WebsiteEtcd), config, err
}

// WebsiteEtcdMembers returns the URLs of the members of the store with
// Options.ExternalEtcd, by the names of their processes, and the client certificate and CA
// to use them.
func (c *Cluster) WebsiteEtcdMembers() (urls map[string]string, config *tls.Config, err error) {
	urls = map[string]string{}
	for i, url := range c.plan.websiteEtcdURLs() {
		urls[replicaName(websiteEtcd, i)] = url
	}
	config, err = clientTLS(c.credentials.etcd, c.credentials.etcdClient)
	return urls, config, err
}

// WebsiteEtcdDataDir returns the data directory of the (first member of the) store
// with Options.ExternalEtcd.
func (c *Cluster) WebsiteEtcdDataDir() string { return c.plan.layout.websiteEtcdData() }

// StartAPIServer starts another website-apiserver, on a free port, with the flags of the
// first one followed by extraArgs. No APIService refers to it. It does not wait until the
// server is ready, because some are expected to stay unready.
//
// The server shares the first one's store, unless extraArgs contain --etcd-servers. Two
// servers cannot share a --data-dir. With Options.ExternalEtcd they serve the same
// Websites, unless extraArgs contain another --etcd-prefix.
func (c *Cluster) StartAPIServer(ctx context.Context, name string, extraArgs ...string) (p *Process,
	url string, err error) {
	return c.startOnFreePort(ctx, name, websiteAPIServer, func(port int) spec {
		return c.plan.websiteAPIServer(name, port, extraArgs...)
	})
}
