package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// Import is the result of an import.
type Import struct {
	// Created is the number of created Websites, Present the number that the store
	// already had.
	Created, Present int
}

// From imports an export. It checks the whole export before the first write. It writes
// nothing if a Website is invalid, unless keepInvalid is set, or if the store has a
// different Website of the same name. It skips Websites that are already in the store with
// the same UID, spec, labels and annotations, so a user can repeat an interrupted import.
func (w *Websites) From(ctx context.Context, name string, in io.Reader, keepInvalid bool) (i Import, err error) {
	file, seekable := in.(io.ReadSeeker)
	if !seekable {
		spooled, err := w.spool(in)
		if err != nil {
			return Import{}, err
		}
		defer spooled.Close() //nolint:errcheck // The file is already unlinked.
		file = spooled
	}
	destroy, err := w.open()
	if err != nil {
		return Import{}, err
	}
	defer destroy()
	run := importer{websites: w, reader: newReader(name, w.Scheme), file: file, keepInvalid: keepInvalid}
	if err := run.check(ctx); err != nil {
		return Import{}, err
	}
	err = w.withClient(func(client *clientv3.Client) error { return run.write(ctx, client) })
	return Import{Created: run.created, Present: run.present}, store.ExplainNoSpace(err)
}

// importer is one import.
type importer struct {
	websites    *Websites
	reader      reader
	file        io.ReadSeeker
	keepInvalid bool
	// total is the number of Websites in the file, present the number that were already
	// in the store, and created the number that this import has written.
	total, present, created int
}

// pass reads the file from its beginning and calls visit for every Website.
func (i *importer) pass(ctx context.Context, visit func(line int, obj *website.Website) error) error {
	if _, err := i.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading %s from its beginning: %w", i.reader.name, err)
	}
	return i.reader.each(ctx, i.file, visit)
}

// check returns an error if the file cannot be imported as a whole.
func (i *importer) check(ctx context.Context) error {
	var problems problems
	strategy := registry.NewStrategy(i.websites.Scheme)
	names, uids := sets.New[types.NamespacedName](), sets.New[types.UID]()
	err := i.pass(ctx, func(line int, obj *website.Website) error {
		i.total++
		at := fmt.Sprintf("%s, line %d: Website %s/%s", i.reader.name, line, obj.Namespace, obj.Name)
		name := types.NamespacedName{Namespace: obj.Namespace, Name: obj.Name}
		switch errs := rest.ValidateCreate(ctx, obj, strategy); {
		case obj.Namespace == "" || obj.Name == "":
			problems.add("%s has no name or no namespace", at)
			return nil
		case obj.UID == "" || obj.CreationTimestamp.IsZero():
			problems.add("%s has no uid or no creationTimestamp: its children would not be its own; create it with "+
				"kubectl instead", at)
		case names.Has(name) || uids.Has(obj.UID):
			problems.add("%s is in the file twice, or its uid", at)
		case len(errs) > 0 && !i.keepInvalid:
			problems.add("%s is invalid: %v", at, errs.ToAggregate())
		}
		names.Insert(name)
		uids.Insert(obj.UID)
		stored, err := i.websites.get(ctx, obj)
		switch {
		case err != nil:
			return err
		case stored == nil:
		case stored.UID != obj.UID:
			problems.add("%s exists with another uid, %s", at, stored.UID)
		case !same(stored, obj):
			problems.add("%s exists with another spec, other labels or annotations", at)
		default:
			i.present++
		}
		return nil
	})
	if err != nil {
		return err
	}
	return problems.error()
}

// same reports whether the stored Website equals the one in the file. The status is
// ignored, as the controller may have changed it.
func same(stored, obj *website.Website) bool {
	return stored.UID == obj.UID &&
		apiequality.Semantic.DeepEqual(stored.Spec, obj.Spec) &&
		apiequality.Semantic.DeepEqual(stored.Labels, obj.Labels) &&
		apiequality.Semantic.DeepEqual(stored.Annotations, obj.Annotations)
}

// write creates the Websites that the store lacks, and reads all of them back.
func (i *importer) write(ctx context.Context, client *clientv3.Client) error {
	prefix := i.websites.Config.Prefix
	klog.FromContext(ctx).Info("Importing Websites", "file", i.reader.name, "websites", i.total, "present", i.present)
	description := fmt.Sprintf("%d Websites from %s, since %s", i.total, i.reader.name,
		time.Now().UTC().Format(time.RFC3339))
	if err := i.websites.writable(); err != nil {
		return err
	}
	if err := store.BeginImport(ctx, client, prefix, description); err != nil {
		return err
	}
	p := newProgress(ctx, int64(i.total))
	err := i.pass(ctx, func(_ int, obj *website.Website) error {
		p.add(1)
		return i.create(ctx, obj)
	})
	if err != nil {
		return fmt.Errorf("%w; %d Websites were imported: run the command again to import the others", err, i.created)
	}
	err = i.pass(ctx, func(_ int, obj *website.Website) error {
		stored, err := i.websites.get(ctx, obj)
		if err == nil && (stored == nil || stored.UID != obj.UID) {
			err = fmt.Errorf("the Website %s/%s was imported and is not in the store: something else writes to it",
				obj.Namespace, obj.Name)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reading back: %w", err)
	}
	if err := i.websites.writable(); err != nil {
		return err
	}
	if err := i.compact(ctx, client); err != nil {
		return err
	}
	return store.EndImport(ctx, client, prefix)
}

// create writes a Website unless the store has it.
func (i *importer) create(ctx context.Context, obj *website.Website) error {
	if err := i.websites.writable(); err != nil {
		return err
	}
	obj.ResourceVersion = ""
	err := i.websites.stored.Create(ctx, i.websites.key(obj), obj, nil, 0)
	if !storage.IsExist(err) {
		if err != nil {
			return fmt.Errorf("writing the Website %s/%s: %w", obj.Namespace, obj.Name, err)
		}
		i.created++
		return nil
	}
	stored, err := i.websites.get(ctx, obj)
	if err == nil && (stored == nil || stored.UID != obj.UID) {
		err = fmt.Errorf("the Website %s/%s was created by another client meanwhile", obj.Namespace, obj.Name)
	}
	return err
}

// compact compacts the history of a store in which all Websites are from the file. A
// client that resumes a watch from a revision of another store then has to list again.
func (i *importer) compact(ctx context.Context, client *clientv3.Client) error {
	prefix := store.WebsitesPrefix(i.websites.Config.Prefix)
	response, err := client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("counting the Websites in the store: %w", err)
	}
	if i.created == 0 || response.Count != int64(i.total) {
		return nil
	}
	if _, err := client.Compact(ctx, response.Header.Revision); err != nil {
		return fmt.Errorf("compacting the history of the import: %w", err)
	}
	return nil
}

// problems counts the problems of all Websites of a file, and lists the first maxReported.
type problems struct {
	listed []error
	count  int
}

func (p *problems) add(format string, args ...any) {
	if p.count++; len(p.listed) < maxReported {
		p.listed = append(p.listed, fmt.Errorf(format, args...))
	}
}

func (p *problems) error() error {
	if p.count == 0 {
		return nil
	}
	return fmt.Errorf("nothing was imported because of %d problems: remove these Websites from the file, or those of "+
		"the store:\n%w", p.count, errors.Join(p.listed...))
}

// Open opens an export. If path is "-", it returns in.
func Open(path string, in io.Reader) (io.ReadCloser, error) {
	if path == "-" {
		// NopCloser hides the Seek method of os.Stdin: From must not seek in a pipe.
		return io.NopCloser(in), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the export: %w", err)
	}
	return f, nil
}
