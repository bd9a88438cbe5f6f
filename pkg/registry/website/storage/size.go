package storage

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
)

// EncodedSize returns the size of a stored Website, 0 if it is unknown. It reads from
// the watch cache, without a request to etcd.
func (r *REST) EncodedSize(ctx context.Context, namespace, name string) int64 {
	obj, err := r.Get(request.WithNamespace(ctx, namespace), name, &metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return 0
	}
	w, ok := obj.(*website.Website)
	if !ok {
		return 0
	}
	return int64(validation.EncodedSize(w))
}
