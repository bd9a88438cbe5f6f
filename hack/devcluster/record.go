package devcluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// record identifies one process, in a JSON file. Only recorded processes are killed.
type record struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	// Argv distinguishes the process from later ones with the same pid.
	Argv    []string  `json:"argv"`
	LogFile string    `json:"logFile"`
	Started time.Time `json:"started"`
	// LogOffset is the offset of this run's output in LogFile.
	LogOffset int64 `json:"logOffset"`
}

// alive reports whether the recorded process, and not another one with its pid, runs.
func (r *record) alive() bool { return processRuns(r.PID, r.Argv) }

// signal sends sig to the recorded process. It returns os.ErrProcessDone if that has ended.
func (r *record) signal(sig syscall.Signal) error {
	// The handle is taken before the check, so that the pid cannot be reused in between.
	handle, err := os.FindProcess(r.PID)
	if err != nil {
		return fmt.Errorf("finding %s: %w", r.Name, err)
	}
	defer func() { _ = handle.Release() }()
	if !r.alive() {
		return os.ErrProcessDone
	}
	if err := handle.Signal(sig); err != nil {
		return fmt.Errorf("sending %s to %s (pid %d): %w", sig, r.Name, r.PID, err)
	}
	return nil
}

// save writes the record immediately after the start: "make down" stops only recorded processes.
func (r *record) save(l layout) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the record of %s: %w", r.Name, err)
	}
	return writeFile(l.record(r.Name), append(data, '\n'), 0o600)
}

// loadRecord returns nil without an error if there is no record of that name.
func loadRecord(l layout, name string) (*record, error) {
	data, err := os.ReadFile(l.record(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the record of %s: %w", name, err)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s is damaged: end the %s it describes, then delete the file: %w", l.record(name), name, err)
	}
	return &r, nil
}

// recordedNames lists the recorded processes, in the order to stop them.
func recordedNames(l layout) ([]string, error) {
	entries, err := os.ReadDir(l.run())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the recorded processes: %w", err)
	}
	var names []string
	for _, entry := range entries {
		// The name of a temporary file of an interrupted write begins with a dot.
		if name, ok := strings.CutSuffix(entry.Name(), recordSuffix); ok && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return stopOrder(names), nil
}

// startOrder lists components after their dependencies. The pods of a node are clients of
// kube-apiserver, which waits for them when it stops.
var startOrder = []string{etcd, kubeAPIServer, kubeControllerManager, kubeScheduler, kwok,
	nodeInit, nodeGateway, gitServer, coreDNS, containerd, kubelet, kubeProxy, traefik, websiteEtcd, websiteAPIServer,
	websiteController}

// stopOrder sorts names so that every process stops before its dependencies.
// kube-apiserver must end before etcd: without its store it hangs and keeps its port.
// Processes that are not components (further controllers) stop first.
func stopOrder(names []string) []string {
	rank := func(name string) int {
		if i := slices.Index(startOrder, componentOf(name)); i >= 0 {
			return i
		}
		return len(startOrder)
	}
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(a, b string) int {
		if ra, rb := rank(a), rank(b); ra != rb {
			return rb - ra
		}
		return strings.Compare(a, b)
	})
	return sorted
}

// hashFiles returns one hash over the names and contents of files.
func hashFiles(paths ...string) (string, error) {
	hash := sha256.New()
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("hashing an input: %w", err)
		}
		// The lengths make the boundary between two files unambiguous.
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", filepath.Base(path), len(data), data)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
