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

	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const (
	// watchInterval is the interval at which the files of the controller and the Secret of the users are read: the
	// kubelet replaces them once a minute or less often.
	watchInterval = time.Second
	// keptPinFile, next to git's directory, keeps the pin for the time after a restart.
	keptPinFile = "pin.json"
)

// files is the last content of the files.
type files struct {
	pin      requests.Pin
	isPinned bool
	previews *requests.Previews
	access   access.Problem
}

// keptPin is the content of keptPinFile.
type keptPin struct{ Pin, File requests.Pin }

// watchFiles posts changes of the files until ctx ends.
func (a *Agent) watchFiles(ctx context.Context, known files) {
	ticker := a.Clock.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		for _, e := range a.changes(ctx, &known) {
			a.post(ctx, e)
		}
		if a.Status().Commit != "" && a.Releases.Current() == "" {
			a.post(ctx, siteLost{a.list(ctx)})
		}
	}
}

// changes reads the files, and returns their changes. A file that cannot be read changes nothing.
func (a *Agent) changes(ctx context.Context, known *files) (events []event) {
	logger := klog.FromContext(ctx)
	if pin, found, err := readConfig(a.ConfigDir, requests.PinFile, requests.ParsePin); err != nil {
		logger.Error(err, "Failed to read which commit to serve")
	} else if found && (!known.isPinned || pin != known.pin) {
		known.pin, known.isPinned = pin, true
		events = append(events, pinRead(pin))
	} else if !found && known.pin.Commit != "" {
		// The controller removes the file with the pin. A request of a later generation than the file's stays.
		known.pin.Commit = ""
		events = append(events, pinRead(known.pin))
	}
	if read, found, err := readConfig(a.ConfigDir, requests.PreviewsFile, requests.ParsePreviews); err != nil {
		logger.Error(err, "Failed to read which branches to list")
	} else {
		var previews *requests.Previews
		changed := previewsRead{}
		if found {
			previews = &read
			changed = previewsRead{previews, previews.ID(a.Git.URL)}
		}
		if !reflect.DeepEqual(previews, known.previews) {
			known.previews = previews
			events = append(events, changed)
		}
	}
	if a.Access == nil {
		return events
	}
	problem, err := a.Access.Check()
	if err != nil {
		logger.Error(err, "Rejecting every request for the site")
	}
	if problem != known.access {
		known.access = problem
		events = append(events, accessChecked(problem))
	}
	return events
}

// readConfig reads a file of the controller, which may be missing.
func readConfig[T any](dir, name string, parse func([]byte) (T, error)) (value T, found bool, err error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
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

// readKeptPin reads the file of keepPin. It returns nil if there is none.
func (a *Agent) readKeptPin() (*keptPin, error) {
	data, err := os.ReadFile(a.keptPinPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the pin: %w", err)
	}
	kept := &keptPin{}
	if err := json.Unmarshal(data, kept); err != nil {
		return nil, fmt.Errorf("decoding the pin: %w", err)
	}
	return kept, nil
}
