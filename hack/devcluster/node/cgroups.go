package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kernel may take a moment to release the cgroups of ended processes.
const (
	removalTimeout  = 30 * time.Second
	removalInterval = 50 * time.Millisecond
)

// podsWeight is the weight of all pods in the competition for processors, as a multiple of that of a process outside:
// cgroups and processes at the root compete one by one, so that a busy machine would leave pods next to nothing.
const podsWeight = 5

// hierarchy is one mounted tree of cgroups.
type hierarchy struct {
	path string
	// controllers are the controllers of a version 1 hierarchy; nil for version 2.
	controllers []string
}

// hierarchies reads the trees of cgroups from a mount table as in /proc/self/mounts.
func hierarchies(mounts string) []hierarchy {
	var found []hierarchy
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		const point, kind, options = 1, 2, 3
		if len(fields) <= options {
			continue
		}
		path := unescapeMount(fields[point])
		switch fields[kind] {
		case "cgroup":
			found = append(found, hierarchy{path: path, controllers: strings.Split(fields[options], ",")})
		case "cgroup2":
			found = append(found, hierarchy{path: path})
		}
	}
	return found
}

// unescapeMount decodes white space and backslashes in a mount table.
func unescapeMount(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

func mounted() ([]hierarchy, error) {
	data, err := os.ReadFile("/proc/thread-self/mounts")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // not Linux: no cgroups
	}
	if err != nil {
		return nil, fmt.Errorf("reading the mount table: %w", err)
	}
	return hierarchies(string(data)), nil
}

// MakeCgroups makes the parent cgroup of all pods, in every hierarchy.
func MakeCgroups(name string) error {
	all, err := mounted()
	if err != nil {
		return err
	}
	for _, h := range all {
		path := filepath.Join(h.path, name)
		if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("creating a cgroup for the pods: %w", err)
		}
		if slices.Contains(h.controllers, "cpuset") {
			if err := inheritCPUs(h.path, path); err != nil {
				return err
			}
		}
		if h.controllers == nil {
			delegate(h.path)
			delegate(path)
		}
		if err := setWeight(h, path); err != nil {
			return err
		}
	}
	return nil
}

// setWeight gives a cgroup podsWeight, unless its hierarchy has no controller of processors.
func setWeight(h hierarchy, path string) error {
	file, ofOne := "cpu.weight", 100
	if h.controllers != nil {
		file, ofOne = "cpu.shares", 1024
	}
	path = filepath.Join(path, file)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(podsWeight*ofOne)), 0o644); err != nil {
		return fmt.Errorf("setting the weight of the pods' cgroup: %w", err)
	}
	return nil
}

// inheritCPUs copies the processors and memory nodes of the parent to a version 1
// cgroup: initially it has none, and no process can enter it.
func inheritCPUs(parent, path string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		data, err := os.ReadFile(filepath.Join(parent, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(path, file), bytes.TrimSpace(data), 0o644)
		}
		if err != nil {
			return fmt.Errorf("configuring the cpuset of the pods' cgroup: %w", err)
		}
	}
	return nil
}

// delegate enables the controllers of a version 2 cgroup for its children. Failures are
// ignored: the kubelet reports a missing controller.
func delegate(path string) {
	available, err := os.ReadFile(filepath.Join(path, "cgroup.controllers"))
	if err != nil {
		return
	}
	for _, name := range strings.Fields(string(available)) {
		_ = os.WriteFile(filepath.Join(path, "cgroup.subtree_control"), []byte("+"+name), 0o644)
	}
}

// RemoveCgroups removes the cgroup of that name with all its descendants. Their processes
// have ended or are about to; it waits a little for them.
func RemoveCgroups(ctx context.Context, name string) error {
	all, err := mounted()
	if err != nil {
		return err
	}
	for _, h := range all {
		path := filepath.Join(h.path, name)
		err := removeCgroup(path)
		for range removalTimeout / removalInterval {
			if err == nil || ctx.Err() != nil {
				break
			}
			time.Sleep(removalInterval)
			err = removeCgroup(path)
		}
		if err != nil {
			return fmt.Errorf("removing the pods' cgroups: %w (processes in them are listed in its cgroup.procs)", err)
		}
	}
	return nil
}

// RemoveStaleCgroups removes the cgroups of clusters whose state directory is gone: those
// with prefix in their name for which alive, given the rest of the name, is false. Failures
// are ignored.
func RemoveStaleCgroups(prefix string, alive func(id string) bool) error {
	all, err := mounted()
	if err != nil {
		return err
	}
	for _, h := range all {
		entries, err := os.ReadDir(h.path)
		if err != nil {
			return fmt.Errorf("listing cgroups: %w", err)
		}
		for _, entry := range entries {
			if id, ok := strings.CutPrefix(entry.Name(), prefix); ok && entry.IsDir() && !alive(id) {
				_ = removeCgroup(filepath.Join(h.path, entry.Name()))
			}
		}
	}
	return nil
}

// removeCgroup removes a cgroup after its descendants. The files in a cgroup go with it.
func removeCgroup(path string) error {
	var dirs []string
	err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() {
			dirs = append(dirs, at)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Reverse(dirs)
	for _, dir := range dirs {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
