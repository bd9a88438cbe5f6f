package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// DefaultRecordNamespace is the namespace of the installation.
const DefaultRecordNamespace = "website-system"

// RecordName is the ConfigMap in which the host cluster keeps the HostRecord.
const RecordName = "website-store"

const (
	identityKey = "identity"
	noncesKey   = "nonces"
	// recordedAtKey is not written by earlier versions.
	recordedAtKey = "recordedAt"
)

// HostRecords reads and writes the HostRecord.
type HostRecords struct {
	// ConfigMaps is the client of the ConfigMaps of Namespace.
	ConfigMaps corev1client.ConfigMapInterface
	// Namespace holds the ConfigMap.
	Namespace string
}

// String names the ConfigMap as messages do.
func (h HostRecords) String() string { return "configmap " + h.Namespace + "/" + RecordName }

// Get returns the record, nil if there is none.
func (h HostRecords) Get(ctx context.Context) (*HostRecord, error) {
	configMap, err := h.ConfigMaps.Get(ctx, RecordName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", h, err)
	}
	record := &HostRecord{
		Identity:        configMap.Data[identityKey],
		Nonces:          strings.Fields(configMap.Data[noncesKey]),
		resourceVersion: configMap.ResourceVersion,
	}
	// Without it, the two records cannot be ordered, and nothing else depends on it.
	record.RecordedAt, _ = time.Parse(time.RFC3339Nano, configMap.Data[recordedAtKey])
	if record.Identity == "" || len(record.Nonces) == 0 {
		return nil, fmt.Errorf("%s has no %s or no %s: restore its content, or delete it to have the store checked against "+
			"the objects of the cluster", h, identityKey, noncesKey)
	}
	return record, nil
}

// Put writes the record, on top of previous, which is nil where there was none. It
// returns a conflict or an AlreadyExists error when another server has written
// meanwhile.
func (h HostRecords) Put(ctx context.Context, previous *HostRecord, record HostRecord) (*HostRecord, error) {
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:      RecordName,
			Namespace: h.Namespace,
			Annotations: map[string]string{"kubernetes.io/description": "Which store the Websites of this cluster are in. " +
				"website-apiserver answers no request from a store that is not the one named here. Do not edit or restore it " +
				"from a backup."},
		},
		Data: map[string]string{identityKey: record.Identity, noncesKey: strings.Join(record.Nonces, "\n")},
	}
	if !record.RecordedAt.IsZero() {
		configMap.Data[recordedAtKey] = record.RecordedAt.Format(time.RFC3339Nano)
	}
	write := func() (*corev1.ConfigMap, error) { return h.ConfigMaps.Create(ctx, configMap, metav1.CreateOptions{}) }
	if previous != nil {
		configMap.ResourceVersion = previous.resourceVersion
		write = func() (*corev1.ConfigMap, error) { return h.ConfigMaps.Update(ctx, configMap, metav1.UpdateOptions{}) }
	}
	written, err := write()
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", h, err)
	}
	record.resourceVersion = written.ResourceVersion
	return &record, nil
}
