package watched

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Source lists and watches the objects of one kind that have labels. It calls observe with the error of each request,
// nil if that succeeded.
type Source func(selector string, observe func(error)) *cache.ListWatch

// SourceOf returns the source of a client.
func SourceOf[L runtime.Object](client interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}) Source {
	return func(selector string, observe func(error)) *cache.ListWatch {
		return &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				options.LabelSelector = selector
				list, err := client.List(ctx, options)
				observe(err)
				return list, err
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				options.LabelSelector = selector
				events, err := client.Watch(ctx, options)
				observe(err)
				return events, err
			},
		}
	}
}
