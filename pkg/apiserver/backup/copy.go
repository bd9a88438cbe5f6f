package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// Copied counts the writes of a Copy.
type Copied struct {
	Created, Updated, Deleted int
}

// Changed reports whether the store was different.
func (c Copied) Changed() bool { return c != Copied{} }

// Decode decodes a Website of any version from JSON. It returns an error if the Website
// has an unknown field, or is invalid.
func (w *Websites) Decode(ctx context.Context, document []byte) (*website.Website, error) {
	obj, err := newReader("", w.Scheme).decode(document)
	if err != nil {
		return nil, err
	}
	if errs := rest.ValidateCreate(ctx, obj, registry.NewStrategy(w.Scheme)); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return obj, nil
}

// Copy makes the store have the Websites of a source, with their UIDs, and no others.
// It does not change a store with Websites that are no copies of that source.
func (w *Websites) Copy(ctx context.Context, source string, websites []*website.Website) (copied Copied, err error) {
	destroy, err := w.open()
	if err != nil {
		return Copied{}, err
	}
	defer destroy()
	err = w.withClient(func(client *clientv3.Client) error {
		prefix := w.Config.Prefix
		if err := w.writable(); err != nil {
			return err
		}
		if err := w.beginCopy(ctx, client, source); err != nil {
			return err
		}
		description := fmt.Sprintf("%d Websites from %s, since %s", len(websites), source,
			time.Now().UTC().Format(time.RFC3339))
		if err := store.BeginImport(ctx, client, prefix, description); err != nil {
			return err
		}
		if copied, err = w.replace(ctx, websites); err != nil {
			return err
		}
		return store.EndImport(ctx, client, prefix)
	})
	return copied, store.ExplainNoSpace(err)
}

// beginCopy marks the store.
func (w *Websites) beginCopy(ctx context.Context, client *clientv3.Client, source string) error {
	current, err := store.CopySource(ctx, client, w.Config.Prefix)
	if err != nil || current == source {
		return err
	}
	response, err := client.Get(ctx, store.WebsitesPrefix(w.Config.Prefix), clientv3.WithPrefix(),
		clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("counting the Websites in the store: %w", err)
	}
	if response.Count > 0 {
		return fmt.Errorf("the store has %d Websites already, and they are no copies of %s: import into an empty store",
			response.Count, source)
	}
	return store.BeginCopy(ctx, client, w.Config.Prefix, source)
}

// replace writes the differences between the store and websites.
func (w *Websites) replace(ctx context.Context, websites []*website.Website) (copied Copied, err error) {
	wanted := sets.New[string]()
	for _, obj := range websites {
		wanted.Insert(w.key(obj))
		if err := w.writable(); err != nil {
			return copied, err
		}
		obj.ResourceVersion = ""
		stored, err := w.get(ctx, obj)
		switch {
		case err != nil:
			return copied, err
		case stored == nil:
			copied.Created++
			err = w.stored.Create(ctx, w.key(obj), obj, nil, 0)
		case !isCopy(stored, obj):
			copied.Updated++
			err = w.stored.GuaranteedUpdate(ctx, w.key(obj), &website.Website{}, false, nil,
				func(runtime.Object, storage.ResponseMeta) (runtime.Object, *uint64, error) {
					return obj, nil, nil
				}, nil)
		}
		if err != nil {
			return copied, fmt.Errorf("writing the Website %s/%s: %w", obj.Namespace, obj.Name, err)
		}
	}
	var deleted []*website.Website
	err = w.each(ctx, func(string, int64) error { return nil }, func(stored *website.Website) error {
		if !wanted.Has(w.key(stored)) {
			deleted = append(deleted, stored.DeepCopy())
		}
		return nil
	})
	for _, obj := range deleted {
		if full := w.writable(); full != nil {
			return copied, errors.Join(err, full)
		}
		copied.Deleted++
		err = errors.Join(err, w.stored.Delete(ctx, w.key(obj), &website.Website{}, nil, storage.ValidateAllObjectFunc, nil,
			storage.DeleteOptions{}))
	}
	return copied, err
}

// isCopy reports whether the stored Website has the fields that users and other
// controllers have written. The status is computed again.
func isCopy(stored, obj *website.Website) bool {
	return same(stored, obj) &&
		apiequality.Semantic.DeepEqual(stored.Finalizers, obj.Finalizers) &&
		apiequality.Semantic.DeepEqual(stored.OwnerReferences, obj.OwnerReferences)
}

// EndCopy marks the copies as the originals.
func (w *Websites) EndCopy(ctx context.Context) error {
	if err := w.writable(); err != nil {
		return err
	}
	return w.withClient(func(client *clientv3.Client) error { return store.EndCopy(ctx, client, w.Config.Prefix) })
}
