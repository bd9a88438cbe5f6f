package storagemigration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Progress is the progress of a migration, enough to continue it.
type Progress struct {
	// Server is the API server that is migrated, and Resource the resource.
	Server   string `json:"server"`
	Resource string `json:"resource"`
	// Continue is the token of the next page; empty before the first one.
	Continue string `json:"continue"`
	Counts   Counts `json:"counts"`
}

// Counts are the numbers of processed objects, by result.
type Counts struct {
	// Rewritten are the objects that were stored in another form before.
	Rewritten int64 `json:"rewritten"`
	// Current are the objects that needed no write.
	Current int64 `json:"current"`
	// Changed are the objects that another client has written or deleted meanwhile.
	Changed int64 `json:"changed"`
	// Failed are the objects that could not be written, for example because an
	// admission webhook denies it. They are logged one by one.
	Failed int64 `json:"failed"`
}

// Total returns the number of processed objects.
func (c Counts) Total() int64 { return c.Rewritten + c.Current + c.Changed + c.Failed }

// load returns the progress of an interrupted migration, nil if there is no file. It
// rejects the file of another migration, with which objects would be left out.
func load(file, server string, resource schema.GroupVersionResource) (*Progress, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the progress of an earlier run: %w", err)
	}
	var p Progress
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("%s is not the progress of a migration, choose another file: %w", file, err)
	}
	if p.Server != server || p.Resource != resource.String() {
		return nil, fmt.Errorf("%s is about %s at %s, not about %s at %s: choose another file", file, p.Resource, p.Server,
			resource, server)
	}
	return &p, nil
}

// save replaces the file, so that it is always complete.
func (p *Progress) save(file string) error {
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encoding the progress: %w", err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".progress-")
	if err != nil {
		return fmt.Errorf("saving the progress: %w", err)
	}
	_, err = temporary.Write(append(data, '\n'))
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("saving the progress: %w", errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}
