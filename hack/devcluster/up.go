package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Up builds what is missing, starts what does not run and returns when the cluster can be
// used. Called again for the same folder it keeps what runs, starts what has ended,
// restarts what would now run from another program, with other flags or with other
// credentials, and stops what options do not ask for, such as further controllers.
//
// If it fails, a detached cluster stays as it is, for a look at it: the next Up continues
// there and Down ends it. Otherwise everything started is stopped; logs stay in Dir.
// Errors about a component are of type *ComponentError, about ports *PortInUseError.
func Up(ctx context.Context, options Options) (*Cluster, error) {
	options, temporary, err := options.complete()
	if err != nil {
		return nil, err
	}
	p := newProgress(options.Progress)
	l := layout{dir: options.Dir}
	if err := checkFolder(l); err != nil {
		return nil, err
	}
	lock, err := lockFile(ctx, l.lock(), func() { p.printf("another command works in %s, waiting for it", l.dir) })
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

// checkFolder refuses a folder with other things in it: Down removes the cluster's
// files, and must never take somebody's "bin" or "logs" for one of them.
func checkFolder(l layout) error {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, os.ErrNotExist) || isFile(l.settings()) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking into the state folder: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() != filepath.Base(l.lock()) {
			return fmt.Errorf("%s holds %s and no cluster: choose an empty folder for the cluster's state, or one that does not exist", l.dir, entry.Name())
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
	// First of all: the settings are what makes the folder ours.
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
	if options.Node, err = options.Node.resolve(ctx, l, c.progress); err != nil {
		return err
	}
	c.progress.printf("tools: %s, git %s", tools.goVersion, tools.gitVersion)
	programs, err := buildKubernetes(ctx, tools, options.RepoDir, options.CacheDir, options.Node, c.progress)
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
		if err := writeNodeFiles(l, s, programs); err != nil {
			return err
		}
	}
	check, err := newChecker(c.credentials)
	if err != nil {
		return err
	}
	c.plan = &plan{layout: l, options: options, settings: s, programs: programs, check: check}
	return nil
}

// linkKubectl offers kubectl to users who have none in a folder for their PATH.
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
