package crdimport

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// source returns the name of the source of the copies.
func source(definition *unstructured.Unstructured) string {
	return fmt.Sprintf("customresourcedefinition %s (%s)", definition.GetName(), definition.GetUID())
}

// list returns the Websites of the definition. It returns an error with the name of each
// one that website-apiserver cannot store.
func (i *Importer) list(ctx context.Context) ([]*website.Website, error) {
	var all []*website.Website
	var problems []error
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return i.dynamic.Resource(websites).List(ctx, options)
	})
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(listed runtime.Object) error {
		obj := listed.(*unstructured.Unstructured)
		decoded, err := i.decode(ctx, obj)
		if err != nil {
			problems = append(problems, fmt.Errorf("the Website %s/%s %w", obj.GetNamespace(), obj.GetName(), err))
			return nil
		}
		all = append(all, decoded)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the Websites of the CustomResourceDefinition: %w", err)
	}
	return all, errors.Join(problems...)
}

func (i *Importer) decode(ctx context.Context, obj *unstructured.Unstructured) (*website.Website, error) {
	switch {
	case obj.GetDeletionTimestamp() != nil:
		return nil, errors.New("is being deleted: wait for its end")
	case len(obj.GetFinalizers()) > 0:
		// Only the definition's own storage could remove them later.
		return nil, fmt.Errorf("has finalizers, %v, which would block the removal of the definition: remove them, and add "+
			"them again after the import", obj.GetFinalizers())
	}
	encoded, err := obj.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("cannot be encoded: %w", err)
	}
	decoded, err := i.config.Websites.Decode(ctx, encoded)
	if err != nil {
		return nil, fmt.Errorf("is not valid in website-apiserver: %w", err)
	}
	return decoded, nil
}

// copy copies until the store equals the definition's.
func (i *Importer) copy(ctx context.Context) error {
	s, err := i.read(ctx)
	if err != nil {
		return err
	}
	if s.definition == nil || !s.local() {
		return errors.New("the CustomResourceDefinition does not serve the API any more: run the command again")
	}
	for changed := true; changed; {
		all, err := i.list(ctx)
		if err != nil {
			return err
		}
		copied, err := i.config.Websites.Copy(ctx, source(s.definition), all)
		if err != nil {
			return err
		}
		i.printf("copy: the definition has %d Websites; %d created, %d updated, %d deleted in the store", len(all),
			copied.Created, copied.Updated, copied.Deleted)
		changed = copied.Changed()
	}
	// A closed server would answer requests with 503 after the handover.
	return i.waitFor(ctx, "a server serves the store", i.open)
}

// open returns nil if website-apiserver serves the store.
func (i *Importer) open(ctx context.Context) error {
	report, err := store.Inspect(ctx, i.config.Store)
	switch {
	case err != nil:
		return err
	case report.Closed != nil:
		return errors.New(report.Closed.Message)
	case report.Host == nil:
		return fmt.Errorf("no running server has recorded this store in %s", i.config.Store.Host)
	case len(report.Unknown) > 0:
		return fmt.Errorf("%d objects of the cluster are owned by Websites that the definition does not have, such as %s "+
			"%s/%s; delete them, or remove their owner references",
			len(report.Unknown), report.Unknown[0].Resource, report.Unknown[0].Namespace, report.Unknown[0].Name)
	}
	return nil
}
