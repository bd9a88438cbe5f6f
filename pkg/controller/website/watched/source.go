package watched

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Source lists and watches the objects of a client that have labels. It makes each request by try, which may repeat it.
func Source[L runtime.Object](client interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}, selector string, try func(ctx context.Context, request func() error) error) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (list runtime.Object, err error) {
			options.LabelSelector = selector
			err = try(ctx, func() (err error) {
				list, err = client.List(ctx, options)
				return err
			})
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (events watch.Interface, err error) {
			options.LabelSelector = selector
			err = try(ctx, func() (err error) {
				events, err = client.Watch(ctx, options)
				return err
			})
			return events, err
		},
	}
}

// Once makes a request once.
func Once(_ context.Context, request func() error) error { return request() }
