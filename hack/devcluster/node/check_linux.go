package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// controllers are the kinds of cgroups that a kubelet cannot do without.
var controllers = []string{"cpu", "cpuset", "memory", "pids"}

// Suitable says in an error why this machine cannot offer a node whose state is in dir.
func Suitable(ctx context.Context, dir string) error {
	if os.Geteuid() != 0 {
		return errors.New("it takes root: run as root, for example with sudo")
	}
	if Hides(dir) {
		return fmt.Errorf("the state folder %s is in one of %s, which a node has of its own: choose another folder", dir, strings.Join(hidden, " and "))
	}
	if err := canIsolate(ctx); err != nil {
		return err
	}
	return cgroupsUsable()
}

// canIsolate tries what container runtimes and security modules may forbid even to root.
func canIsolate(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "true")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	Isolate(cmd.SysProcAttr)
	// This has Go change all mounts of the child to private ones first. Not mount(8): it
	// leaves a folder in the host's /run.
	cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("this machine does not let root make namespaces and mounts (in a container, that takes --privileged): %w: %s", err, out)
	}
	return nil
}

// cgroupsUsable checks that there is a hierarchy for everything the kubelet limits.
func cgroupsUsable() error {
	all, err := mounted()
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, h := range all {
		names := h.controllers
		if names == nil {
			data, err := os.ReadFile(filepath.Join(h.path, "cgroup.controllers"))
			if err != nil {
				return fmt.Errorf("reading the kinds of cgroups: %w", err)
			}
			names = strings.Fields(string(data))
		}
		for _, name := range names {
			have[name] = true
		}
		probe := filepath.Join(h.path, fmt.Sprintf("probe-devcluster-%d", os.Getpid()))
		if err := errors.Join(os.Mkdir(probe, 0o755), os.Remove(probe)); err != nil {
			return fmt.Errorf("cgroups cannot be made in %s: %w", h.path, err)
		}
	}
	for _, name := range controllers {
		if !have[name] {
			return fmt.Errorf("no cgroup hierarchy with the controller %q is mounted below /sys/fs/cgroup", name)
		}
	}
	return nil
}

// debianPackages are the programs a node needs from the system, and where Debian has them.
var debianPackages = []struct{ program, pkg, purpose string }{
	{"runc", "runc", "it starts the processes of containers"},
	{"nft", "nftables", "kube-proxy programs Services with it"},
	{"mount", "mount", "the kubelet mounts volumes with it"},
}

// EnsurePrograms installs what the system lacks where it is Debian or alike, and names it
// elsewhere. say hears what is being installed.
func EnsurePrograms(ctx context.Context, say func(packages string)) error {
	missing, err := missingPrograms()
	if err == nil {
		return nil
	}
	if _, lookErr := exec.LookPath("apt-get"); lookErr != nil {
		return err
	}
	say(strings.Join(missing, " "))
	if aptErr := InstallDebian(ctx, missing...); aptErr != nil {
		return fmt.Errorf("%w (installing them failed: %w)", err, aptErr)
	}
	_, err = missingPrograms()
	return err
}

func missingPrograms() (packages []string, err error) {
	var lines []string
	for _, p := range debianPackages {
		if _, err := exec.LookPath(p.program); err != nil && !slices.Contains(packages, p.pkg) {
			packages = append(packages, p.pkg)
			lines = append(lines, fmt.Sprintf("%s (Debian's package %s): %s", p.program, p.pkg, p.purpose))
		}
	}
	if len(lines) > 0 {
		return packages, fmt.Errorf("programs are missing in PATH; install them from your system's packages: %s", strings.Join(lines, "; "))
	}
	return nil, nil
}

// InstallDebian installs packages, after a look for newer lists of them if need be.
func InstallDebian(ctx context.Context, packages ...string) error {
	install := append([]string{"--yes", "--no-install-recommends", "install"}, packages...)
	if _, err := Apt(ctx, install...); err == nil {
		return nil
	}
	// Lists that are missing, as in most container images, or name versions that are gone.
	if _, err := Apt(ctx, "update"); err != nil {
		return err
	}
	_, err := Apt(ctx, install...)
	return err
}

// Apt runs apt-get, which asks nothing, and returns what it printed.
func Apt(ctx context.Context, args ...string) (string, error) {
	return execute(ctx, "env", append([]string{"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get", "--quiet=2"}, args...)...)
}
