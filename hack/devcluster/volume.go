package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	storagev1ac "k8s.io/client-go/applyconfigurations/storage/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// storageClass is the default class, and volumeName the only volume of it.
	storageClass, volumeName = "standard", "devcluster"
	// volumeUser is the user of the programs in artifacts. Their group has no effect on
	// a directory of the node.
	volumeUser = 65532
)

// provideVolume makes a default StorageClass with one volume, a directory of the node, for
// the claim of artifacts/default.
func provideVolume(ctx context.Context, client kubernetes.Interface, l layout) error {
	if err := errors.Join(os.MkdirAll(l.volume(), 0o750), os.Chown(l.volume(), volumeUser, volumeUser)); err != nil {
		return fmt.Errorf("creating a volume: %w", err)
	}
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	class := storagev1ac.StorageClass(storageClass).
		WithAnnotations(map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}).
		WithProvisioner("kubernetes.io/no-provisioner")
	if _, err := client.StorageV1().StorageClasses().Apply(ctx, class, options); err != nil {
		return fmt.Errorf("applying the StorageClass: %w", err)
	}
	volume := corev1ac.PersistentVolume(volumeName).WithSpec(corev1ac.PersistentVolumeSpec().
		WithStorageClassName(storageClass).
		WithAccessModes(corev1.ReadWriteOnce).
		WithCapacity(corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")}).
		WithPersistentVolumeReclaimPolicy(corev1.PersistentVolumeReclaimRetain).
		WithHostPath(corev1ac.HostPathVolumeSource().WithPath(l.volume())))
	if _, err := client.CoreV1().PersistentVolumes().Apply(ctx, volume, options); err != nil {
		return fmt.Errorf("applying a volume: %w", err)
	}
	return nil
}
