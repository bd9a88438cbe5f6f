package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// exportAttempts is the number of attempts of an export.
const exportAttempts = 5

// Export describes a complete export.
type Export struct {
	// Identity is the identity of the store.
	Identity string
	// Revision is the revision of all exported Websites.
	Revision string
	// Websites is their number.
	Websites int
}

// ToFile exports all Websites to a new file, which gets its name once it is complete and
// was read back.
func (w *Websites) ToFile(ctx context.Context, path string) (Export, error) {
	if err := vacant(path); err != nil {
		return Export{}, err
	}
	f, err := createIn(filepath.Dir(path))
	if err != nil {
		return Export{}, err
	}
	defer f.discard()
	var e Export
	for attempt := 1; ; attempt++ {
		if e, err = w.To(ctx, w.withSpace(filepath.Dir(path), f)); !apierrors.IsResourceExpired(err) ||
			attempt == exportAttempts {
			break
		}
		klog.FromContext(ctx).Info("The revision was compacted while it was exported, beginning again")
		if err := rewind(f); err != nil {
			return Export{}, err
		}
	}
	if err != nil {
		return Export{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Export{}, fmt.Errorf("reading the export back: %w", err)
	}
	if err := newReader(f.Name(), w.Scheme).each(ctx, f, func(int, *website.Website) error { return nil }); err != nil {
		return Export{}, fmt.Errorf("reading the export back: %w", err)
	}
	return e, f.publish(path)
}

// To exports all Websites to out. Without its last line, an export is incomplete.
func (w *Websites) To(ctx context.Context, out io.Writer) (Export, error) {
	identity, err := w.identity(ctx)
	if err != nil {
		return Export{}, err
	}
	destroy, err := w.open()
	if err != nil {
		return Export{}, err
	}
	defer destroy()
	export := newWriter(out, w.Scheme)
	e := Export{Identity: identity}
	var p *progress
	err = w.each(ctx, func(revision string, total int64) error {
		e.Revision = revision
		p = newProgress(ctx, total)
		klog.FromContext(ctx).Info("Exporting Websites", "store", identity, "revision", revision, "websites", total)
		return export.comment("Websites of the store %s at revision %s, exported at %s", identity, revision,
			time.Now().UTC().Format(time.RFC3339))
	}, func(obj *website.Website) error {
		p.add(1)
		return export.add(obj)
	})
	if err != nil {
		return Export{}, fmt.Errorf("exporting: %w", err)
	}
	if err := export.end(); err != nil {
		return Export{}, fmt.Errorf("exporting: %w", err)
	}
	e.Websites = export.websites
	return e, nil
}

// identity returns the identity of the store.
func (w *Websites) identity(ctx context.Context) (string, error) {
	var record *store.Record
	err := w.withClient(func(client *clientv3.Client) (err error) {
		record, err = readRecord(ctx, client, w.Config.Transport, w.Config.Prefix)
		return err
	})
	return identity(record), err
}

// withClient calls use with a client of etcd.
func (w *Websites) withClient(use func(*clientv3.Client) error) error {
	client, err := store.NewClient(w.Config.Transport, w.Config.Transport.ServerList...)
	if err != nil {
		return err
	}
	return errors.Join(use(client), client.Close())
}

// spool copies an input that cannot be read twice to a file without a name.
func (w *Websites) spool(in io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", partialPattern)
	if err != nil {
		return nil, fmt.Errorf("creating a temporary file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("unlinking a temporary file: %w", err), f.Close())
	}
	if _, err := io.Copy(w.withSpace(os.TempDir(), f), in); err != nil {
		return nil, errors.Join(fmt.Errorf("copying the export to a temporary file: %w", err), f.Close())
	}
	return f, nil
}
