package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// host records resources of this machine that a cluster could leave behind, as
// a set of lines per kind. A kind that this machine does not have is empty.
type host struct {
	seen map[string]map[string]bool
	// dir and namespaces belong to the cluster whose processes are listed.
	dir        string
	namespaces []string
	// others are the earlier cgroups at the top of their trees, of other programs
	// and clusters, which change their descendants.
	others []string
}

// places are the default directories of the programs of a node.
var places = []string{
	"/etc/cni", "/opt/cni", "/run/containerd", "/run/netns", "/run/runc", "/var/lib/cni", "/var/lib/containerd",
	"/var/lib/kubelet", "/var/lib/kube-proxy", "/var/log/containers", "/var/log/pods",
}

// observeHost reads the state of this machine.
func observeHost() (*host, error) {
	pattern := "/sys/fs/cgroup/*"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		pattern += "/*" // cgroup version 1 has a tree for each controller
	}
	others, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	h := &host{others: others}
	h.seen, err = h.list()
	return h, err
}

// cluster selects the running cluster whose processes are listed.
func (h *host) cluster(dir string) error {
	h.dir = dir
	pid, err := recordedPID(dir, "node")
	if err != nil {
		return err
	}
	for _, kind := range []string{"net", "mnt", "pid"} {
		namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
		if err != nil {
			return err
		}
		h.namespaces = append(h.namespaces, namespace)
	}
	return nil
}

// recordedPID returns the process of a component in a state directory.
func recordedPID(dir, name string) (int, error) {
	data, err := os.ReadFile(filepath.Join(dir, "run", name+".json"))
	if err != nil {
		return 0, err
	}
	var record struct {
		PID int `json:"pid"`
	}
	err = json.Unmarshal(data, &record)
	return record.PID, err
}

// restored returns an error unless the machine is as before. The kernel removes
// unused resources with a delay.
func (h *host) restored(ctx context.Context) error {
	var different map[string][]string
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true,
		func(context.Context) (done bool, err error) {
			different, err = h.differences()
			return len(different) == 0, err
		})
	if wait.Interrupted(err) {
		return fmt.Errorf("different than before: %v", different)
	}
	return err
}

// differences returns the added and the missing lines, by kind.
func (h *host) differences() (map[string][]string, error) {
	now, err := h.list()
	if err != nil {
		return nil, err
	}
	different := map[string][]string{}
	for kind, lines := range now {
		for line := range lines {
			if !h.seen[kind][line] {
				different[kind] = append(different[kind], "+"+line)
			}
		}
		for line := range h.seen[kind] {
			if !lines[line] {
				different[kind] = append(different[kind], "-"+line)
			}
		}
		slices.Sort(different[kind])
	}
	maps.DeleteFunc(different, func(_ string, lines []string) bool { return len(lines) == 0 })
	return different, nil
}

func (h *host) list() (map[string]map[string]bool, error) {
	seen := map[string]map[string]bool{}
	var failures []error
	for kind, look := range map[string]func() ([]string, error){
		"processes": h.processes, "mounts": h.mounts, "cgroups": h.cgroups, "rules": rules,
		"interfaces": func() ([]string, error) { return names("/sys/class/net") },
		"routes":     func() ([]string, error) { return lines("/proc/thread-self/net/route") },
		"netns":      func() ([]string, error) { return names("/run/netns") },
		"places":     existing,
	} {
		found, err := look()
		if err != nil {
			failures = append(failures, fmt.Errorf("looking at the %s of this machine: %w", kind, err))
		}
		seen[kind] = map[string]bool{}
		for _, line := range found {
			seen[kind][line] = true
		}
	}
	return seen, errors.Join(failures...)
}

// processes returns the processes that name the cluster's directory, or are in
// the namespaces of its node.
func (h *host) processes() ([]string, error) {
	if h.dir == "" {
		return nil, nil
	}
	folders, err := names("/proc")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, pid := range folders {
		if _, err := strconv.Atoi(pid); err != nil {
			continue
		}
		// A process without a readable command line has ended meanwhile.
		command, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		ours := bytes.Contains(command, []byte(h.dir))
		for _, kind := range []string{"net", "mnt", "pid"} {
			namespace, err := os.Readlink(filepath.Join("/proc", pid, "ns", kind))
			ours = ours || err == nil && slices.Contains(h.namespaces, namespace)
		}
		if ours {
			found = append(found, pid+" "+string(bytes.ReplaceAll(command, []byte{0}, []byte(" "))))
		}
	}
	return found, nil
}

// mounts returns all mounts, except below the temporary directories of concurrent tests.
func (h *host) mounts() ([]string, error) {
	mounts, err := lines("/proc/thread-self/mounts")
	return slices.DeleteFunc(mounts, func(mount string) bool {
		fields := strings.Fields(mount)
		return len(fields) > 1 && below(os.TempDir(), fields[1]) && (h.dir == "" || !below(h.dir, fields[1]))
	}), err
}

// below reports whether path is in dir.
func below(dir, path string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// cgroups returns all cgroups, except of systemd and of others, which change at any time.
func (h *host) cgroups() ([]string, error) {
	var found []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case slices.Contains([]string{".scope", ".service", ".slice"}, filepath.Ext(path)), slices.Contains(h.others, path):
			return fs.SkipDir
		}
		found = append(found, path)
		return nil
	})
	return found, err
}

// rules returns the rules of nftables, without their counters.
func rules() ([]string, error) {
	nft, err := exec.LookPath("nft")
	if err != nil {
		return nil, nil
	}
	out, err := exec.Command(nft, "--stateless", "list", "ruleset").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("nft list ruleset: %w: %s", err, out)
	}
	// Without rules the output is empty, as on a machine without nft.
	return slices.Collect(strings.Lines(string(out))), nil
}

func existing() ([]string, error) {
	var found []string
	for _, place := range places {
		if _, err := os.Lstat(place); err == nil {
			found = append(found, place)
		}
	}
	return found, nil
}

func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found, err
}

func lines(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Split(string(data), "\n"), err
}
