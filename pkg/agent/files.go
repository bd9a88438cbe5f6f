package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const (
	// watchInterval is the interval at which the files of the controller and the Secret of the users are read: the
	// kubelet replaces them once a minute or less often.
	watchInterval = time.Second
	// keptPinFile, next to git's directory, keeps the pin for the time after a restart.
	keptPinFile = "pin.json"
)

// keptPin is the content of keptPinFile.
type keptPin struct{ Pin, File requests.Pin }

// watchFiles posts changes of the files until ctx ends.
func (a *Agent) watchFiles(ctx context.Context) {
	ticker := a.Clock.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		for _, e := range a.changes(ctx) {
			a.post(ctx, e)
		}
		if a.Status().Commit != "" && a.Releases.Current() == "" {
			a.post(ctx, siteLost{a.list(ctx)})
		}
	}
}

// changes reads the files, and returns what differs from the state. A file that cannot be read changes nothing.
func (a *Agent) changes(ctx context.Context) (events []event) {
	logger := klog.FromContext(ctx)
	s, _, _ := a.now()
	pin, found, err := readFile(filepath.Join(a.ConfigDir, requests.PinFile), requests.ParsePin)
	if !found {
		// The controller removes the file with the pin. A request of a later generation than the file's stays.
		pin.Generation = s.pin.file.Generation
	}
	if err != nil {
		logger.Error(err, "Failed to read which commit to serve")
	} else if pin != s.pin.file || found && !s.pin.known {
		events = append(events, pinRead(pin))
	}
	previews, found, err := readFile(filepath.Join(a.ConfigDir, requests.PreviewsFile), requests.ParsePreviews)
	var read previewsRead
	if found {
		read = previewsRead{&previews, previews.ID(a.Git.URL)}
	}
	if err != nil {
		logger.Error(err, "Failed to read which branches to list")
	} else if !reflect.DeepEqual(read.previews, s.listing.previews) {
		events = append(events, read)
	}
	if a.Access == nil {
		return events
	}
	problem, err := a.Access.Check()
	if err != nil {
		logger.Error(err, "Rejecting every request for the site")
	}
	if problem != s.access {
		events = append(events, accessChecked(problem))
	}
	return events
}

// readFile reads a file that may be missing.
func readFile[T any](path string, parse func([]byte) (T, error)) (value T, found bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return value, false, nil
	}
	if err == nil {
		value, err = parse(data)
	}
	return value, err == nil, err
}

func (a *Agent) keptPinPath() string { return filepath.Join(filepath.Dir(a.Git.Dir), keptPinFile) }

// keepPin keeps the pin for a restart: the file may not have the requested pin yet.
func (a *Agent) keepPin(kept keptPin) error {
	data, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("encoding the pin: %w", err)
	}
	temporary := a.keptPinPath() + ".new"
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return fmt.Errorf("writing the pin: %w", err)
	}
	return os.Rename(temporary, a.keptPinPath())
}
