package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver"
)

// StoreAsV1alpha1 writes Websites into etcd in the stored form of v1alpha1, which was the only
// version once: one half as JSON, the other as protobuf.
func StoreAsV1alpha1(t *testing.T, s *Server, websites []*v1alpha1.Website) {
	t.Helper()
	_, codecs, err := apiserver.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	client := s.Store.Client(t)
	for i, w := range websites {
		mediaType := []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}[i%2]
		info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
		if !ok {
			t.Fatalf("no serializer for %s", mediaType)
		}
		w.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Website"}
		data, err := runtime.Encode(info.Serializer, w)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Put(t.Context(), s.Store.Prefix+w.Namespace+"/"+w.Name, string(data)); err != nil {
			t.Fatal(err)
		}
	}
}

// StoreUnchecked writes a new Website into the etcd of the cluster. It simulates two concurrent
// creations with one deploymentName, which cannot be detected.
func StoreUnchecked(ctx context.Context, w *v1beta1.Website) error {
	s, err := clusterStore()
	if err != nil {
		return err
	}
	w.TypeMeta = metav1.TypeMeta{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "Website"}
	w.UID, w.Generation, w.CreationTimestamp = uuid.NewUUID(), 1, metav1.Now().Rfc3339Copy()
	data, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("encoding a Website: %w", err)
	}
	client, err := s.open()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // The write was answered.
	if _, err := client.Put(ctx, s.Prefix+w.Namespace+"/"+w.Name, string(data)); err != nil {
		return fmt.Errorf("storing a Website: %w", err)
	}
	return nil
}

// AdvanceStore advances the store of the cluster to a revision, by writes of other keys
// than Websites.
func AdvanceStore(ctx context.Context, revision int64) error {
	s, err := clusterStore()
	if err != nil {
		return err
	}
	client, err := s.open()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // The writes were answered.
	// The writes run concurrently, as each waits for the disk.
	failures := make([]error, 16)
	var writers sync.WaitGroup
	for i := range failures {
		writers.Go(func() {
			for at := int64(0); at < revision && failures[i] == nil; {
				put, err := client.Put(ctx, "/advanced", "")
				if err != nil {
					failures[i] = fmt.Errorf("advancing the store: %w", err)
				} else {
					at = put.Header.Revision
				}
			}
		})
	}
	writers.Wait()
	return errors.Join(failures...)
}

// StoreReadError returns an error unless err reports that a Website cannot be read, and names it.
func StoreReadError(err error, namespace, name string) error {
	want := fmt.Sprintf("Website %s/%s cannot be read from the store: ", namespace, name)
	if apierrors.ReasonForError(err) != metav1.StatusReasonStoreReadError || !strings.Contains(err.Error(), want) {
		return fmt.Errorf("got %v, want %q", err, want)
	}
	return nil
}
