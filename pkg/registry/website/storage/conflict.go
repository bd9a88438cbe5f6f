package storage

import (
	"context"
	"errors"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// storageError is the part of a message that says which key of etcd a precondition was about.
var storageError = regexp.MustCompile(`StorageError: .*?AdditionalErrorMsg: `)

// withoutStorageKey returns the error of a write without the key of etcd, which the library includes in conflicts, also
// for dry runs: the layout of the store is no concern of clients.
func withoutStorageKey(err error) error {
	var conflict *apierrors.StatusError
	if !apierrors.IsConflict(err) || !errors.As(err, &conflict) {
		return err
	}
	message := storageError.ReplaceAllString(conflict.ErrStatus.Message, "")
	if message == conflict.ErrStatus.Message {
		return err
	}
	public := *conflict
	public.ErrStatus.Message = message
	return &public
}

// Delete deletes a Website.
func (r *REST) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	obj, deleted, err := r.Store.Delete(ctx, name, deleteValidation, options)
	return obj, deleted, withoutStorageKey(err)
}

// DeleteCollection deletes the Websites that listOptions select.
func (r *REST) DeleteCollection(ctx context.Context, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions, listOptions *metainternalversion.ListOptions) (runtime.Object, error) {
	list, err := r.Store.DeleteCollection(ctx, deleteValidation, options, listOptions)
	return list, withoutStorageKey(err)
}

// GetCorruptObjDeleter returns what deletes Websites that cannot be read.
func (r *REST) GetCorruptObjDeleter() rest.GracefulDeleter {
	deleter := r.Store.GetCorruptObjDeleter()
	if deleter == nil {
		return nil
	}
	return corruptDeleter{deleter}
}

// corruptDeleter deletes Websites that cannot be read.
type corruptDeleter struct{ rest.GracefulDeleter }

// Delete deletes a Website that cannot be read, and returns a conflict for any other.
func (d corruptDeleter) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	obj, deleted, err := d.GracefulDeleter.Delete(ctx, name, deleteValidation, options)
	return obj, deleted, withoutStorageKey(err)
}
