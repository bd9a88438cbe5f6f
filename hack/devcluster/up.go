package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Up builds and starts the cluster and returns when it is ready. Called again for the same
// directory, it restarts components whose program, flags or files have changed, starts those
// that have ended, stops those that options do not include, and keeps the others.
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
			return fmt.Errorf("%s contains %s, but no cluster: choose an empty or new directory for the cluster's state", l.dir, entry.Name())
		}
	}
	return nil
}

// prepare does everything that needs no running process.
func (c *Cluster) prepare(ctx context.Context, l layout, options Options) error {
	s, err := loadSettings(l)
	if err != nil {
		return err
	}
	chosen := options.Ports
	chosen.fill(s.Ports)
	if options.Detached {
		chosen.fill(DefaultPorts(DefaultBasePort))
	}
	if err := c.ports.fill(&chosen); err != nil {
		return err
	}
	if err := chosen.validate(); err != nil {
		return err
	}
	s.Ports = chosen
	// First of all: the settings are what makes the directory ours.
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
	if err := s.chooseMode(l, options.Node); err != nil {
		return err
	}
	if err := s.chooseStore(l, options.ExternalEtcd); err != nil {
		return err
	}
	c.progress.printf("using %s and git %s", tools.goVersion, tools.gitVersion)
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
	if err := writeFile(l.auditPolicy(), []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	if c.credentials, err = ensureCredentials(l, host); err != nil {
		return err
	}
	if err := c.credentials.ensureKubeconfigs(l, s.Ports.APIServer); err != nil {
		return err
	}
	if options.Node == NodeReal {
		if err := c.credentials.ensureNode(l, s); err != nil {
			return err
		}
		if err := writeNodeFiles(l, s, programs, options.NodeDisk); err != nil {
			return err
		}
	}
	check, err := newChecker(c.credentials)
	if err != nil {
		return err
	}
	c.plan = &plan{layout: l, options: options, settings: s, programs: programs, check: check}
	c.plan.replicas, err = chooseReplicas(options, c.ports)
	return err
}

// linkKubectl creates a directory for PATH with kubectl, for users who have none.
func linkKubectl(l layout, path string) error {
	link := filepath.Join(l.bin(), kubectl)
	if target, err := os.Readlink(link); err == nil && target == path {
		return nil
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("replacing the link to kubectl: %w", err)
	}
	if err := os.Symlink(path, link); err != nil {
		return fmt.Errorf("linking kubectl: %w", err)
	}
	return nil
}
