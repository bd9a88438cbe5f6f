package storage

import (
	"context"
	"fmt"
	"slices"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// hostHolders warns about new hosts that another Website already has. It is not an error: the
// other one may be about to give the host up.
type hostHolders struct {
	store *genericregistry.Store
	describer
}

// maxComparedHosts is the number of compared hosts per request: each may occur in thousands of Websites.
const maxComparedHosts = 8

// warn warns about hosts that old, which is nil on creation, does not have. It returns no error.
func (h hostHolders) warn(ctx context.Context, w, old *website.Website) error {
	var former []string
	if old != nil {
		former = old.Spec.HostNames()
	}
	compared := 0
	for i, host := range w.Spec.HostNames() {
		if slices.Contains(former, host) {
			continue
		}
		if compared++; compared > maxComparedHosts {
			return nil
		}
		if holder := h.holder(ctx, w, host); holder != nil {
			warning.AddWarning(ctx, "", fmt.Sprintf("spec.hosts[%d].name: %s has the host %q: requests for it do not reach "+
				"this Website until the other one gives it up", i, h.describe(ctx, w, holder), host))
		}
	}
	return nil
}

// holder returns the oldest other Website with a host, in any namespace, if it is
// older than w. It reads from an index of the watch cache. If the list fails, there is
// no warning.
func (h hostHolders) holder(ctx context.Context, w *website.Website, host string) *website.Website {
	everywhere := genericapirequest.WithNamespace(ctx, "")
	list, err := h.store.ListPredicate(everywhere, registry.MatchHost(host),
		&metainternalversion.ListOptions{ResourceVersion: "0"})
	if err != nil {
		klog.FromContext(ctx).V(2).Info("The hosts of a Website are not compared with other hosts: Websites cannot "+
			"be listed", "website", klog.KObj(w), "err", err)
		return nil
	}
	var oldest *website.Website
	for i := range list.(*website.WebsiteList).Items {
		other := &list.(*website.WebsiteList).Items[i]
		hasHost := slices.ContainsFunc(other.Spec.Hosts, func(h v1beta1.WebsiteHost) bool { return h.Name == host })
		if hasHost && other.UID != w.UID && other.DeletionTimestamp.IsZero() &&
			website.IsOlder(other, w) && (oldest == nil || website.IsOlder(other, oldest)) {
			oldest = other
		}
	}
	return oldest
}
