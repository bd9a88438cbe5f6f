package children

import (
	"context"
	"slices"
	"strings"

	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// Several is a Kind with any number of children per Website.
type Several[S cached.Object, T cached.Kept, A cached.ApplyConfiguration[A]] struct {
	*Kind[S, T, A]
	indexer cache.Indexer
}

func newSeveral[S cached.Object, T cached.Kept, A cached.ApplyConfiguration[A]](
	kind *Kind[S, T, A], indexer cache.Indexer,
) *Several[S, T, A] {
	return &Several[S, T, A]{Kind: kind, indexer: indexer}
}

// Of returns the children of a Website in the cache, sorted by name.
func (s *Several[S, T, A]) Of(website *v1beta1.Website) []T {
	children := cached.Indexed[T](s.indexer, cached.ByOwner, cached.OwnerKey(website.Namespace, website.UID))
	slices.SortFunc(children, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	return children
}

// DeleteOthers removes the children of a Website in the cache whose names are not listed.
func (s *Several[S, T, A]) DeleteOthers(ctx context.Context, website *v1beta1.Website,
	names ...string) *problem.Problem {
	for _, child := range s.Of(website) {
		if slices.Contains(names, child.GetName()) {
			continue
		}
		if _, p := s.Delete(ctx, website, child.GetName()); p != nil {
			return p
		}
	}
	return nil
}
