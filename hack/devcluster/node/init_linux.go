package node

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// readyFile appears in the node's own /run once the node can be entered.
const readyFile = "/run/devcluster-node-ready"

// tunables are settings of the machine that the kubelet requires. In the node, files with
// these values hide them, so that the machine's settings do not change.
var tunables = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// Init is the first process of a node: it prepares the node and keeps it until SIGTERM.
// It must run in namespaces of its own, see Isolate.
func Init() error {
	if os.Getpid() != 1 {
		return errors.New("this command is the first process of a node, in new namespaces: run \"make up\" instead")
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGCHLD)
	if err := errors.Join(prepareMounts(), prepareNetwork()); err != nil {
		return err
	}
	if err := os.WriteFile(readyFile, nil, 0o600); err != nil {
		return fmt.Errorf("marking the node ready: %w", err)
	}
	for s := range signals {
		if s != unix.SIGCHLD {
			return nil // the kernel then ends all other processes of the node
		}
		reap()
	}
	return nil
}

// reap reaps orphans.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err != nil || pid <= 0 {
			return
		}
	}
}

// prepareMounts separates the node's mounts from the host's, and mounts its own /proc.
func prepareMounts() error {
	// Unmounts of the host must propagate into the node, or their devices would stay busy;
	// mounts of the node must not propagate out. The kubelet requires shared propagation
	// among the node's own mounts.
	for _, propagation := range []uintptr{unix.MS_SLAVE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", propagation|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("separating the node's mounts from the host's: %w", err)
		}
	}
	const flags = unix.MS_NOSUID | unix.MS_NOEXEC | unix.MS_NODEV
	if err := unix.Mount("proc", "/proc", "proc", flags, ""); err != nil {
		return fmt.Errorf("mounting the node's /proc: %w", err)
	}
	for _, dir := range hidden {
		if err := mountPrivate(dir); err != nil {
			return err
		}
	}
	if err := mountAllBut(fixedParent, "/run/host", fixedNames); err != nil {
		return err
	}
	for _, dir := range []string{"/run/lock", "/run/kernel"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("filling the node's /run: %w", err)
		}
	}
	for name, value := range tunables {
		real := filepath.Join("/proc/sys", name)
		if _, err := os.Stat(real); errors.Is(err, os.ErrNotExist) {
			continue // the kernel lacks it
		}
		shown := filepath.Join("/run/kernel", strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(shown, []byte(value+"\n"), 0o644); err != nil {
			return fmt.Errorf("writing a setting for the kubelet: %w", err)
		}
		if err := unix.Mount(shown, real, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("showing the kubelet its own %s: %w", real, err)
		}
	}
	return nil
}

// prepareNetwork makes the node route between its pods. These settings belong to the
// network namespace, not to the machine.
func prepareNetwork() error {
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("enabling IP forwarding in the node: %w", err)
	}
	loopback, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(loopback)
	}
	if err != nil {
		return fmt.Errorf("setting the node's loopback up: %w", err)
	}
	return nil
}

// Ready returns an error until the node of that first process can be entered.
func Ready(pid int) error {
	if _, err := os.Stat(FileIn(pid, readyFile)); err != nil {
		return errors.New("the node is not ready")
	}
	return nil
}

// FileIn returns the path on the host of a file of the node.
func FileIn(pid int, path string) string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", pid), path)
}
