package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster/command"
)

// controllers are the cgroup controllers that a kubelet requires.
var controllers = []string{"cpu", "cpuset", "memory", "pids"}

// Suitable returns an error if this machine cannot run a node with its state in dir.
func Suitable(ctx context.Context, dir string) error {
	if os.Geteuid() != 0 {
		return errors.New("it requires root: run as root, for example with sudo")
	}
	if Hides(dir) {
		return fmt.Errorf("a node does not see the state directory %s, because its %s are private: choose another directory",
			dir, strings.Join(hides(), ", "))
	}
	if err := canIsolate(ctx); err != nil {
		return err
	}
	if err := cgroupsUsable(); err != nil {
		return err
	}
	return dnsPortFree(ctx)
}

// dnsPortFree returns an error if a DNS server of this machine listens at all addresses: the cluster's
// server could not listen at the address for pods.
func dnsPortFree(ctx context.Context) error {
	// This loopback address is otherwise unused.
	const address = "127.53.53.53:53"
	var config net.ListenConfig
	var failed error
	if listener, err := config.Listen(ctx, "tcp", address); err == nil {
		_ = listener.Close()
	} else {
		failed = err
	}
	if conn, err := config.ListenPacket(ctx, "udp", address); err == nil {
		_ = conn.Close()
	} else {
		failed = err
	}
	if errors.Is(failed, syscall.EADDRINUSE) {
		return fmt.Errorf("a DNS server listens on port 53 of all addresses, which the cluster's own needs at one of them: "+
			"stop it, or have it listen at certain addresses: %w", failed)
	}
	return nil
}

// canIsolate tries operations that container runtimes and security modules may deny even to root.
func canIsolate(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "true")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	Isolate(cmd.SysProcAttr)
	// This makes Go change all mounts of the child to private ones first. mount(8) would
	// leave a directory in the host's /run.
	cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("root must not create namespaces and mounts on this machine (in a container, that requires "+
			"--privileged): %w: %s", err, out)
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
			return fmt.Errorf("cgroups cannot be created in %s: %w", h.path, err)
		}
	}
	for _, name := range controllers {
		if !have[name] {
			return fmt.Errorf("no cgroup hierarchy with the controller %q is mounted below /sys/fs/cgroup", name)
		}
	}
	return nil
}

// debianPackages lists the programs that a node needs from the system, and their Debian packages.
var debianPackages = []struct{ program, pkg, purpose string }{
	{"runc", "runc", "to run containers"},
	{"nft", "nftables", "for kube-proxy"},
	{"mount", "mount", "for the volumes of the kubelet"},
}

// EnsurePrograms installs missing programs on Debian, after calling say with their packages.
// On other systems it returns an error with their names.
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
			lines = append(lines, fmt.Sprintf("%s (Debian package %s), %s", p.program, p.pkg, p.purpose))
		}
	}
	if len(lines) > 0 {
		return packages, fmt.Errorf("programs are missing in PATH; install them from your system's packages: %s",
			strings.Join(lines, "; "))
	}
	return nil, nil
}

// InstallDebian installs packages, and updates the package lists if that fails.
func InstallDebian(ctx context.Context, packages ...string) error {
	install := append([]string{"--yes", "--no-install-recommends", "install"}, packages...)
	if _, err := Apt(ctx, install...); err == nil {
		return nil
	}
	// The lists are missing, as in most container images, or outdated.
	if _, err := Apt(ctx, "update"); err != nil {
		return err
	}
	_, err := Apt(ctx, install...)
	return err
}

// Apt runs apt-get without prompts and returns its output. It waits for a concurrent apt-get, such as
// an automatic update.
func Apt(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "apt-get",
		append([]string{"--quiet=2", "--option=DPkg::Lock::Timeout=120"}, args...)...)
	// apt-get completes dpkg's current step; if it were killed, it would leave packages
	// half installed.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * time.Minute
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	return command.Output(ctx, cmd)
}
