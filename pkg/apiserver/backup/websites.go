package backup

import (
	"context"
	"fmt"
	"path"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// pageSize is kubectl's.
const pageSize = 500

// Websites reads and writes Websites in etcd as the server does: in its encoding, and
// with its encryption keys.
type Websites struct {
	// Config is the server's storage configuration of Websites, and ResourcePrefix their prefix.
	Config         storagebackend.ConfigForResource
	ResourcePrefix string
	// Scheme knows their types.
	Scheme *runtime.Scheme

	stored storage.Interface
}

// open connects to etcd until the returned function is called.
func (w *Websites) open() (destroy func(), err error) {
	config := w.Config
	// Only servers compact.
	config.CompactionInterval = 0
	stored, destroy, err := factory.Create(config,
		func() runtime.Object { return &website.Website{} },
		func() runtime.Object { return &website.WebsiteList{} }, "/"+w.ResourcePrefix)
	if err != nil {
		return nil, fmt.Errorf("connecting to etcd at %v (an embedded etcd is reached in the --data-dir of a running "+
			"server): %w", config.Transport.ServerList, err)
	}
	w.stored = stored
	return destroy, nil
}

// key returns the key of a Website, below the prefix of the store.
func (w *Websites) key(obj *website.Website) string {
	return path.Join("/", w.ResourcePrefix, obj.Namespace, obj.Name)
}

// each calls visit with every Website of one revision, and returns that. It returns an
// error with the key of a Website that cannot be decrypted or decoded, and an error for
// which apierrors.IsResourceExpired is true if the revision was compacted meanwhile.
func (w *Websites) each(ctx context.Context, begin func(revision string, total int64) error,
	visit func(*website.Website) error) error {
	predicate := storage.Everything
	predicate.Limit = pageSize
	for first := true; first || predicate.Continue != ""; first = false {
		var page website.WebsiteList
		if err := w.stored.GetList(ctx, "/"+w.ResourcePrefix, storage.ListOptions{Predicate: predicate, Recursive: true},
			&page); err != nil {
			return fmt.Errorf("listing the Websites in etcd: %w", err)
		}
		if first {
			total := int64(len(page.Items))
			if page.RemainingItemCount != nil {
				total += *page.RemainingItemCount
			}
			if err := begin(page.ResourceVersion, total); err != nil {
				return err
			}
		}
		for i := range page.Items {
			if err := visit(&page.Items[i]); err != nil {
				return err
			}
		}
		predicate.Continue = page.Continue
	}
	return nil
}

// get returns the stored Website with the name of obj, nil without one.
func (w *Websites) get(ctx context.Context, obj *website.Website) (*website.Website, error) {
	got := &website.Website{}
	err := w.stored.Get(ctx, w.key(obj), storage.GetOptions{}, got)
	switch {
	case storage.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the Website %s/%s in etcd: %w", obj.Namespace, obj.Name, err)
	}
	return got, nil
}

// strictCodecs rejects fields that would get lost, such as misspelled ones.
func strictCodecs(scheme *runtime.Scheme) serializer.CodecFactory {
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict)
}
