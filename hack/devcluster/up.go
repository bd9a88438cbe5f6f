package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Up builds and starts the cluster and returns when it is ready. Called again for the same
// directory, it keeps the objects and restarts all components.
//
// If it fails, a detached cluster is left as it is, for debugging: the next Up continues
// and Down stops it. Otherwise everything started is stopped; logs stay in Dir.
// Errors about a component are of type *ComponentError, about ports *PortInUseError.
func Up(ctx context.Context, options Options) (*Cluster, error) {
	options, temporary, err := options.complete()
	if err != nil {
		return nil, err
	}
	p := newProgress(options.Progress)
	l := layout{dir: options.Dir}
	if err := checkDirectory(l); err != nil {
		return nil, err
	}
	lock, err := lockFile(ctx, l.lock(), func() { p.printf("waiting for another command that uses %s", l.dir) })
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }()

	c := &Cluster{progress: p, ports: newReservations(), temporary: temporary, processes: map[string]*Process{}}
	if err := c.prepare(ctx, l, options); err != nil {
		c.ports.release()
		if temporary {
			err = errors.Join(err, l.remove())
		}
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		if options.Detached {
			return nil, err
		}
		c.temporary = false // the error names logs in there
		return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// checkDirectory rejects a directory with other files: Down removes the cluster's files by
// name, and must not remove another "bin" or "logs".
func checkDirectory(l layout) error {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, os.ErrNotExist) || isFile(l.settings()) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the state directory: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() != filepath.Base(l.lock()) {
			return fmt.Errorf("%s contains %s, but no cluster: choose an empty or new directory for the cluster's state",
				l.dir, entry.Name())
		}
	}
	return nil
}

// prepare does all steps that need no running process.
func (c *Cluster) prepare(ctx context.Context, l layout, options Options) error {
	s, err := loadSettings(l)
	if err != nil {
		return err
	}
	chosen := options.Ports
	chosen.fill(s.Ports)
	if options.Detached && !options.FreePorts {
		chosen.fill(DefaultPorts(DefaultBasePort))
	}
	if err := c.ports.fill(&chosen); err != nil {
		return err
	}
	if err := chosen.validate(); err != nil {
		return err
	}
	s.Ports = chosen
	// The settings are saved first, as they mark the directory as a state directory.
	if err := s.save(l); err != nil {
		return err
	}
	if err := errors.Join(l.make(), s.chooseWebsiteData(l)); err != nil {
		return err
	}
	if err := s.save(l); err != nil {
		return err
	}

	tools, err := findToolchain(ctx, options.RepoDir)
	if err != nil {
		return err
	}
	if started := s.startedMode(l); options.Node == NodeAuto && started != "" {
		options.Node = started
	}
	if options.Node, err = options.Node.resolve(ctx, l, c.progress); err != nil {
		return err
	}
	if options.Gateway && options.Node != NodeReal {
		return errNoGateway
	}
	if err := options.checkArchives(); err != nil {
		return err
	}
	if err := s.chooseStore(l, options.Node, options.ExternalEtcd); err != nil {
		return err
	}
	s.Gateway = options.Gateway
	c.progress.printf("using %s", tools.goVersion)
	programs, err := buildKubernetes(ctx, tools, options, c.progress)
	if err != nil {
		return err
	}
	if err := linkKubectl(l, programs[kubectl]); err != nil {
		return err
	}
	if err := buildProduct(ctx, options, c.progress); err != nil {
		return err
	}
	host := ""
	if options.Node == NodeReal {
		if err := s.chooseNodeAddresses(l); err != nil {
			return err
		}
		host = s.Node.Host()
	}
	s.Programs = programs
	if err := s.save(l); err != nil {
		return err
	}
	if err := writeFile(l.auditPolicy(), []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	if err := makeCredentials(l, host); err != nil {
		return err
	}
	if err := c.planFor(l, options, s); err != nil {
		return err
	}
	if err := c.credentials.writeKubeconfigs(l, s.Ports.APIServer); err != nil {
		return err
	}
	if options.Node == NodeReal {
		if err := c.credentials.makeNode(l, s); err != nil {
			return err
		}
		if err := writeNodeFiles(l, s, programs, options.NodeDisk); err != nil {
			return err
		}
	}
	c.plan.replicas, err = chooseReplicas(options, c.ports)
	return err
}

// planFor plans a cluster whose certificates have been made.
func (c *Cluster) planFor(l layout, options Options, s settings) (err error) {
	if c.credentials, err = loadCredentials(l); err != nil {
		return err
	}
	check, err := newChecker(c.credentials)
	c.plan = &plan{layout: l, options: options, settings: s, programs: s.Programs, check: check}
	return err
}

// Join returns the cluster that another process has started in a state directory with
// Options.Detached. It continues to run when this process ends.
func Join(dir string) (*Cluster, error) {
	l := layout{dir: dir}
	s, err := loadSettings(l)
	if err != nil {
		return nil, err
	}
	if len(s.Programs) == 0 {
		return nil, fmt.Errorf("there is no cluster in %s: start it with \"make up\" and CLUSTER_DIR", dir)
	}
	options, _, err := Options{
		Dir: dir, Detached: true, Node: s.Mode, Gateway: s.Gateway, ExternalEtcd: s.ExternalEtcd,
	}.complete()
	if err != nil {
		return nil, err
	}
	c := &Cluster{progress: newProgress(options.Progress), ports: newReservations(), processes: map[string]*Process{}}
	if err := c.planFor(l, options, s); err != nil {
		return nil, err
	}
	for _, spec := range c.stages().all() {
		if err := c.add(spec).adopt(); err != nil {
			return nil, err
		}
	}
	return c, c.Crash()
}

// linkKubectl creates a directory for PATH with kubectl, for users without kubectl.
func linkKubectl(l layout, path string) error {
	link := filepath.Join(l.bin(), kubectl)
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("replacing the link to kubectl: %w", err)
	}
	if err := os.Symlink(path, link); err != nil {
		return fmt.Errorf("linking kubectl: %w", err)
	}
	return nil
}
