package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/hack/devcluster/balancer"
)

// Cluster is a running cluster. Its methods may be called from several goroutines.
type Cluster struct {
	plan        *plan
	credentials *credentials
	progress    *progress
	ports       *reservations
	// temporary is set if Up created the state directory, so that Stop removes it.
	temporary bool

	// balancer is nil with a single website-apiserver.
	balancer *balancer.Balancer

	mu        sync.Mutex
	processes map[string]*Process
}

// Dir is the state directory.
func (c *Cluster) Dir() string { return c.plan.layout.dir }

// RepoDir is the checkout whose programs run.
func (c *Cluster) RepoDir() string { return c.plan.options.RepoDir }

// Ports are the ports the components listen on.
func (c *Cluster) Ports() Ports { return c.plan.settings.Ports }

// Kubeconfig is the path of an administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.plan.layout.adminKubeconfig() }

// KubectlPath is the path of a kubectl of the same version as the cluster.
func (c *Cluster) KubectlPath() string { return c.plan.programs[kubectl] }

// EtcdPath is the path of the etcd program that the cluster runs.
func (c *Cluster) EtcdPath() string { return c.plan.programs[etcd] }

// AdminConfig is the client configuration of an administrator. It has no client-side rate
// limit.
func (c *Cluster) AdminConfig() *rest.Config {
	return c.credentials.restConfig(c.credentials.admin, c.Ports().APIServer)
}

// UserConfig returns a client configuration for a user in these groups, with a new client
// certificate that is valid for a year. It has no client-side rate limit.
func (c *Cluster) UserConfig(user string, groups ...string) (*rest.Config, error) {
	pair, err := newLeaf(c.credentials.cluster, leaf{commonName: user, organizations: groups, client: true})
	if err != nil {
		return nil, err
	}
	return c.credentials.restConfig(pair, c.Ports().APIServer), nil
}

// WriteKubeconfig writes the result of UserConfig as a kubeconfig file that only its owner may read.
func (c *Cluster) WriteKubeconfig(path, user string, groups ...string) error {
	config, err := c.UserConfig(user, groups...)
	if err != nil {
		return err
	}
	return WriteKubeconfig(path, config)
}

// WebsiteAPIServerURL is the URL of the website-apiserver that runs outside the cluster.
// Requests to it bypass kube-apiserver. ServingCA has signed its serving certificate, and it
// accepts the same client certificates as kube-apiserver.
func (c *Cluster) WebsiteAPIServerURL() string { return httpsURL(c.Ports().WebsiteAPIServer) }

// ServingCA is the certificate, as PEM, of the CA that signed the serving
// certificates of all components except etcd.
func (c *Cluster) ServingCA() []byte { return slices.Clone(c.credentials.cluster.certPEM) }

// AuditLog is the path of the audit log of "kube-apiserver", or of a "website-apiserver" that
// runs outside the cluster. Each line is an audit.k8s.io/v1 Event as JSON, without bodies.
func (c *Cluster) AuditLog(component string) string { return c.plan.layout.auditLog(component) }

// HasExternalEtcd reports whether Options.ExternalEtcd is set.
func (c *Cluster) HasExternalEtcd() bool { return c.plan.options.ExternalEtcd }

// WebsiteDataDir is the data directory of website-apiserver's store.
func (c *Cluster) WebsiteDataDir() string { return c.plan.settings.WebsiteData }

// Process is the component of that name ("kube-apiserver", "website-controller" or a
// name given to StartController), or nil if the cluster has none.
func (c *Cluster) Process(name string) *Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[name]
}

// Processes are the names of all components, in the order in which Stop stops them.
func (c *Cluster) Processes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for name := range c.processes {
		names = append(names, name)
	}
	return stopOrder(names)
}

// StartController starts another website-controller, on a free port, with the flags of the
// first one followed by extraArgs, and waits until it is ready. url is the URL of its metrics
// and health.
func (c *Cluster) StartController(ctx context.Context, name string, extraArgs ...string) (p *Process,
	url string, err error) {
	p, url, err = c.startOnFreePort(ctx, name, websiteController, func(port int) spec {
		return c.plan.websiteController(name, port, extraArgs...)
	})
	if err != nil {
		return nil, "", err
	}
	return p, url, p.WaitReady(ctx)
}

// StartKubeAPIServer starts another kube-apiserver with the same store and credentials, on a
// free port, with the flags of the first one followed by extraArgs, and waits until it is
// ready.
func (c *Cluster) StartKubeAPIServer(ctx context.Context, name string, extraArgs ...string) (p *Process,
	url string, err error) {
	p, url, err = c.startOnFreePort(ctx, name, kubeAPIServer, func(port int) spec {
		// Only the first kube-apiserver maintains the endpoints of the Service kubernetes.
		return c.plan.kubeAPIServer(name, port, append([]string{"--endpoint-reconciler-type=none"}, extraArgs...)...)
	})
	if err != nil {
		return nil, "", err
	}
	return p, url, p.WaitReady(ctx)
}

// StartProgram starts another program. No running component may have its name. StartProgram does not
// wait until the program is ready.
func (c *Cluster) StartProgram(ctx context.Context, name, path string, args ...string) (*Process, error) {
	p := c.add(spec{name: name, path: path, args: args})
	return p, p.Start(ctx)
}

// FreePort returns a free port, for example for StartProgram, and reserves it until Stop.
func (c *Cluster) FreePort() (int, error) { return c.ports.next() }

// startOnFreePort starts another process of a component, whose name must be unused, and returns its URL. A component
// of another cluster that is restarted may take the port first, as its cluster reserves none any more: then the process
// gets another port.
func (c *Cluster) startOnFreePort(ctx context.Context, name, component string, specOf func(port int) spec) (*Process,
	string, error) {
	if slices.Contains(startOrder, name) && name != component {
		return nil, "", fmt.Errorf("the name %s belongs to another component", name)
	}
	if p := c.Process(name); p != nil && p.Running() {
		return nil, "", fmt.Errorf("a process named %s is already running", name)
	}
	for {
		port, err := c.ports.next()
		if err != nil {
			return nil, "", err
		}
		p := c.add(specOf(port))
		var taken *PortInUseError
		if err := p.Start(ctx); !errors.As(err, &taken) || taken.Port != port {
			return p, httpsURL(port), err
		}
	}
}

func (c *Cluster) add(s spec) *Process {
	p := &Process{spec: s, layout: c.plan.layout, detached: c.plan.options.Detached, readyTimeout: DefaultReadyTimeout}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes[s.name] = p
	return p
}

// Crash returns a *ComponentError for each component that has ended without being stopped.
func (c *Cluster) Crash() error {
	var crashes []error
	for _, name := range c.Processes() {
		crashes = append(crashes, c.Process(name).Crash())
	}
	return errors.Join(crashes...)
}

// await waits until done returns nil. It returns an error at once if a component crashes,
// and the last error of done after DefaultReadyTimeout.
func (c *Cluster) await(ctx context.Context, what string, done func(context.Context) error) error {
	const timeout = DefaultReadyTimeout
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		if err := c.Crash(); err != nil {
			return false, err
		}
		last = done(ctx)
		return last == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
	case wait.Interrupted(err):
		return fmt.Errorf("waited %s for %s: %w (logs are in %s)", timeout, what, last, c.plan.layout.logs())
	default:
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
}

// Stop stops all processes, each before its dependencies, and waits until they have ended.
// It removes a temporary state directory; Down removes one that is named in Options.
func (c *Cluster) Stop(ctx context.Context) error {
	var failures []error
	for _, name := range c.Processes() {
		if err := c.Process(name).Stop(ctx); err != nil {
			failures = append(failures, err)
		}
	}
	if c.balancer != nil {
		failures = append(failures, c.balancer.Close())
		c.balancer = nil
	}
	c.ports.release()
	if errors.Join(failures...) == nil {
		failures = append(failures, removeNode(context.WithoutCancel(ctx), c.plan.layout))
	}
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("stopping the cluster: %w", err)
	}
	if c.temporary {
		return c.plan.layout.remove()
	}
	return nil
}

// Down stops every process that is recorded in the state directory, each before its
// dependencies, and removes the state, also after crashes. It changes nothing if dir is not a
// state directory. It calls progress for each step.
func Down(ctx context.Context, dir string, progress func(format string, args ...any)) error {
	l := layout{dir: dir}
	if _, err := os.Stat(l.settings()); errors.Is(err, os.ErrNotExist) {
		progress("nothing to stop: there is no cluster in %s", dir)
		return nil
	} else if err != nil {
		return fmt.Errorf("reading the state of the cluster (run this as the same user as before): %w", err)
	}
	lock, err := lockFile(ctx, l.lock(), func() { progress("waiting for another command that uses %s", dir) })
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	err = stopRecorded(ctx, l, progress)
	if err == nil {
		err = removeNode(ctx, l)
	}
	// The state is kept while a process may still use it, for the next attempt.
	if err != nil {
		return fmt.Errorf("stopping the cluster in %s: %w", dir, err)
	}
	if err := l.remove(); err != nil {
		return err
	}
	if _, err := os.Stat(dir); err == nil {
		progress("removed the cluster's state; %s contains other files and is kept", dir)
		return nil
	}
	progress("removed %s", dir)
	return nil
}

// stopRecorded stops every process recorded in the state directory.
func stopRecorded(ctx context.Context, l layout, report func(format string, args ...any)) error {
	names, err := recordedNames(l)
	if err != nil {
		return err
	}
	var failures []error
	for _, name := range names {
		p := &Process{spec: spec{name: name}, layout: l}
		err := p.adopt()
		if pid := p.PID(); err == nil && pid == 0 {
			report("%s: not running (log: %s)", name, p.LogFile())
		} else if err == nil {
			if err = p.Stop(ctx); err == nil {
				report("%s: stopped (pid %d)", name, pid)
			}
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}
