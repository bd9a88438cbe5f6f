package children

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// ByOwner indexes children by their namespace and the UID of the Website that controls them: an object of
// another namespace can have a reference with that UID as well.
const ByOwner = "owner"

// IndexByOwner returns the indexer ByOwner.
func IndexByOwner() cache.Indexers {
	return cache.Indexers{ByOwner: func(obj any) ([]string, error) {
		child, ok := obj.(metav1.Object)
		if !ok {
			return nil, nil
		}
		if _, uid, ok := OwnerOf(child); ok {
			return []string{OwnerKey(child.GetNamespace(), uid)}, nil
		}
		return nil, nil
	}}
}

// OwnerKey is the key of ByOwner.
func OwnerKey(namespace string, uid types.UID) string {
	return cache.NewObjectName(namespace, string(uid)).String()
}

// Indexed returns the objects of an index with a value.
func Indexed[T any](indexer cache.Indexer, name, value string) []T {
	indexed, err := indexer.ByIndex(name, value)
	if err != nil {
		return nil // Only an index that does not exist is an error.
	}
	var objects []T
	for _, obj := range indexed {
		if object, ok := obj.(T); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// Several is a Kind of which a Website has any number of children.
type Several[T Object, A ApplyConfiguration[A]] struct {
	*Kind[T, A]
	indexer cache.Indexer
}

func newSeveral[T Object, A ApplyConfiguration[A]](kind *Kind[T, A], indexer cache.Indexer) *Several[T, A] {
	return &Several[T, A]{Kind: kind, indexer: indexer}
}

// Of returns the children of a Website by the cache, in the order of their names.
func (s *Several[T, A]) Of(website *v1beta1.Website) []T {
	children := Indexed[T](s.indexer, ByOwner, OwnerKey(website.Namespace, website.UID))
	slices.SortFunc(children, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	return children
}

// DeleteOthers removes the children of a Website, by the cache, that are none of names, and
// returns how many.
func (s *Several[T, A]) DeleteOthers(ctx context.Context, website *v1beta1.Website, names ...string) (int,
	*problem.Problem) {
	deleted := 0
	for _, child := range s.Of(website) {
		if slices.Contains(names, child.GetName()) {
			continue
		}
		done, p := s.Delete(ctx, website, child.GetName())
		if p != nil {
			return deleted, p
		}
		if done == Deleted {
			deleted++
		}
	}
	return deleted, nil
}
