package devcluster

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster/balancer"
)

const (
	// readinessPeriod and readinessFailures determine when a dead website-apiserver gets
	// no new connections: after a second, while kubelets take up to 30.
	readinessPeriod   = 500 * time.Millisecond
	readinessFailures = 2
)

// replicas are the ports of further replicas with Options.WebsiteEtcdMembers and
// Options.APIServers. The ports of the first are in the settings.
type replicas struct {
	etcd []etcdPorts
	// servers are the ports of website-apiservers, service is the balancer's.
	servers []int
	service int
}

type etcdPorts struct{ client, peer int }

func chooseReplicas(options Options, ports *reservations) (r replicas, err error) {
	next := func() (port int) {
		if err == nil {
			port, err = ports.next()
		}
		return port
	}
	for range options.WebsiteEtcdMembers - 1 {
		r.etcd = append(r.etcd, etcdPorts{next(), next()})
	}
	for range options.APIServers - 1 {
		r.servers = append(r.servers, next())
	}
	if options.APIServers > 1 {
		r.service = next()
	}
	return r, err
}

// replicaName is the name of the process of the i-th replica of a component.
func replicaName(component string, i int) string {
	if i == 0 {
		return component
	}
	return component + "-" + strconv.Itoa(i+1)
}

var replicaSuffix = regexp.MustCompile(`-[0-9]+$`)

// componentOf returns the component of a replica's process.
func componentOf(name string) string { return replicaSuffix.ReplaceAllString(name, "") }

// websiteEtcdPorts returns the ports of all members of website-etcd.
func (p *plan) websiteEtcdPorts() []etcdPorts {
	ports := p.settings.Ports
	return append([]etcdPorts{{ports.WebsiteEtcd, ports.WebsiteEtcdPeer}}, p.replicas.etcd...)
}

// websiteAPIServers are the servers behind the Service.
func (p *plan) websiteAPIServers() []spec {
	var specs []spec
	for i, port := range p.websiteAPIServerPorts() {
		specs = append(specs, p.websiteAPIServer(replicaName(websiteAPIServer, i), port))
	}
	return specs
}

func (p *plan) websiteAPIServerPorts() []int {
	return append([]int{p.settings.Ports.WebsiteAPIServer}, p.replicas.servers...)
}

// servicePort returns the target port of website-apiserver's Service.
func (p *plan) servicePort() int {
	if p.replicas.service != 0 {
		return p.replicas.service
	}
	return p.settings.Ports.WebsiteAPIServer
}

// startBalancer starts the balancer in place of kube-proxy if there are several website-apiservers.
func (c *Cluster) startBalancer() error {
	if c.plan.replicas.service == 0 {
		return nil
	}
	servers := map[string]string{}
	for i, port := range c.plan.websiteAPIServerPorts() {
		servers[replicaName(websiteAPIServer, i)] = loopback(port)
	}
	var err error
	c.balancer, err = balancer.Start(balancer.Options{
		Address: loopback(c.plan.replicas.service),
		Servers: servers,
		Probe: func(ctx context.Context, address string) error {
			return c.plan.check.url(ctx, "https://"+address+"/readyz")
		},
		Period: readinessPeriod, FailureThreshold: readinessFailures,
	})
	if err != nil {
		return fmt.Errorf("starting the balancer of the website-apiservers: %w", err)
	}
	return nil
}

// Balancer is the balancer between kube-apiserver and the website-apiservers if there are
// several; otherwise it is nil.
func (c *Cluster) Balancer() *balancer.Balancer { return c.balancer }

// WebsiteAPIServers are the URLs of the website-apiservers behind the Service, by the names
// of their processes.
func (c *Cluster) WebsiteAPIServers() map[string]string {
	urls := map[string]string{}
	for i, port := range c.plan.websiteAPIServerPorts() {
		urls[replicaName(websiteAPIServer, i)] = httpsURL(port)
	}
	return urls
}
