package store

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// WebsiteUIDs returns a function that lists the UIDs of all Websites stored below
// resourcePrefix at an endpoint. It decrypts and decodes them as the server does,
// and returns an error when one of them cannot be.
func WebsiteUIDs(config storagebackend.ConfigForResource, resourcePrefix string) func(context.Context,
	string) (sets.Set[types.UID], error) {
	// A store that may be another cluster's is not to be compacted.
	config.CompactionInterval = 0
	return func(ctx context.Context, endpoint string) (sets.Set[types.UID], error) {
		config := config
		config.Transport.ServerList = []string{endpoint}
		stored, destroy, err := factory.Create(config,
			func() runtime.Object { return &website.Website{} },
			func() runtime.Object { return &website.WebsiteList{} }, "/"+resourcePrefix)
		if err != nil {
			return nil, fmt.Errorf("connecting to etcd at %s: %w", endpoint, err)
		}
		defer destroy()
		var list website.WebsiteList
		if err := stored.GetList(ctx, "/"+resourcePrefix, storage.ListOptions{Predicate: storage.Everything, Recursive: true},
			&list); err != nil {
			return nil, fmt.Errorf("listing the Websites in etcd at %s: %w", endpoint, err)
		}
		uids := sets.New[types.UID]()
		for i := range list.Items {
			uids.Insert(list.Items[i].UID)
		}
		return uids, nil
	}
}
