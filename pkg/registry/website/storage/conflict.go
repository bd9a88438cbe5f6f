package storage

import (
	"context"
	"errors"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// storageError is the part of a message that contains the key of etcd in a failed precondition.
var storageError = regexp.MustCompile(`StorageError: .*?AdditionalErrorMsg: `)

// publicConflict returns the error of a write with the resource in place of the kind, which the library names in
// conflicts of deletions, and without the key of etcd: clients must not depend on the layout of the store.
func publicConflict(err error) error {
	var conflict *apierrors.StatusError
	if !apierrors.IsConflict(err) || !errors.As(err, &conflict) {
		return err
	}
	public := *conflict
	public.ErrStatus.Message = storageError.ReplaceAllString(conflict.ErrStatus.Message, "")
	if details := conflict.ErrStatus.Details; details != nil && details.Kind == "Website" {
		public.ErrStatus.Details = details.DeepCopy()
		public.ErrStatus.Details.Kind = "websites"
		public.ErrStatus.Message = strings.Replace(public.ErrStatus.Message, " on Website.", " on websites.", 1)
	}
	return &public
}

// Delete deletes a Website.
func (r *REST) Delete(
	ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	obj, deleted, err := r.Store.Delete(ctx, name, deleteValidation, options)
	return obj, deleted, publicConflict(err)
}

// DeleteCollection deletes the Websites that listOptions select.
func (r *REST) DeleteCollection(
	ctx context.Context, deleteValidation rest.ValidateObjectFunc,
	options *metav1.DeleteOptions, listOptions *metainternalversion.ListOptions,
) (runtime.Object, error) {
	list, err := r.Store.DeleteCollection(ctx, deleteValidation, options, listOptions)
	return list, publicConflict(err)
}

// GetCorruptObjDeleter returns the deleter of unreadable Websites.
func (r *REST) GetCorruptObjDeleter() rest.GracefulDeleter {
	deleter := r.Store.GetCorruptObjDeleter()
	if deleter == nil {
		return nil
	}
	return corruptDeleter{deleter}
}

// corruptDeleter deletes unreadable Websites.
type corruptDeleter struct{ rest.GracefulDeleter }

// Delete deletes an unreadable Website, and returns a conflict for any other.
func (d corruptDeleter) Delete(
	ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	obj, deleted, err := d.GracefulDeleter.Delete(ctx, name, deleteValidation, options)
	return obj, deleted, publicConflict(err)
}
