package etcdcert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// annotationTrust in a pod template is the bundle with which its pods have started.
const annotationTrust = "website-system.kubesites.io/etcd-trust"

// trust identifies a bundle.
func trust(bundle []byte) string {
	sum := sha256.Sum256(bundle)
	return hex.EncodeToString(sum[:8])
}

// workload is what reads the bundle at the start of its pods.
type workload struct {
	kind, name  string
	annotations map[string]string
	// rolledOut is whether all pods have the pod template, and are ready.
	rolledOut bool
	patch     func(ctx context.Context, patch []byte) error
}

// workloads are the members of etcd and the servers.
func (c Config) workloads(ctx context.Context) ([]workload, error) {
	stateful, err := c.Client.AppsV1().StatefulSets(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("getting statefulset %s: %w", c.Name, err)
	}
	deployment, err := c.Client.AppsV1().Deployments(c.Namespace).Get(ctx, c.Servers, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("getting deployment %s: %w", c.Servers, err)
	}
	return []workload{
		{"statefulset", c.Name, stateful.Spec.Template.Annotations, statefulSetRolledOut(stateful), func(ctx context.Context, patch []byte) error {
			_, err := c.Client.AppsV1().StatefulSets(c.Namespace).Patch(ctx, c.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
			return err //nolint:wrapcheck // The caller does.
		}},
		{"deployment", c.Servers, deployment.Spec.Template.Annotations, deploymentRolledOut(deployment), func(ctx context.Context, patch []byte) error {
			_, err := c.Client.AppsV1().Deployments(c.Namespace).Patch(ctx, c.Servers, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
			return err //nolint:wrapcheck // The caller does.
		}},
	}, nil
}

func statefulSetRolledOut(s *appsv1.StatefulSet) bool {
	want, status := ptr.Deref(s.Spec.Replicas, 1), &s.Status
	return status.ObservedGeneration >= s.Generation && status.UpdateRevision == status.CurrentRevision &&
		status.UpdatedReplicas == want && status.ReadyReplicas == want
}

func deploymentRolledOut(d *appsv1.Deployment) bool {
	want, status := ptr.Deref(d.Spec.Replicas, 1), &d.Status
	return status.ObservedGeneration >= d.Generation && status.Replicas == want &&
		status.UpdatedReplicas == want && status.AvailableReplicas == want
}

// settle has the pods restarted that trust another bundle, first the members of etcd, then
// the servers, and reports whether all of them run with the current one. Both read it at their
// start only. Without a rotation, there is nothing to do.
func (c Config) settle(ctx context.Context, a *authority) (settled bool, err error) {
	if !a.rotating() && a.changed.IsZero() {
		return true, nil
	}
	// Volumes with Secrets are updated with a delay.
	if c.Clock.Now().Before(a.changed.Add(c.PropagationDelay)) {
		return false, nil
	}
	workloads, err := c.workloads(ctx)
	if err != nil {
		return false, err
	}
	want := trust(a.bundle())
	for _, w := range workloads {
		isCurrent := w.annotations[annotationTrust] == want
		// The members are restarted one by one, whatever the state of the others.
		if !w.rolledOut {
			if !isCurrent || a.rotating() {
				waiting(ctx, c.Namespace, w)
			}
			return false, nil
		}
		if isCurrent {
			continue
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{
			"metadata": map[string]any{"annotations": map[string]string{annotationTrust: want}},
		}}})
		if err != nil {
			return false, fmt.Errorf("encoding the restart of %s %s: %w", w.kind, w.name, err)
		}
		if err := w.patch(ctx, patch); err != nil {
			return false, fmt.Errorf("restarting %s %s: %w", w.kind, w.name, err)
		}
		klog.FromContext(ctx).Info("Restarting pods, as the CAs that etcd trusts have changed", "kind", w.kind, "name", klog.KRef(c.Namespace, w.name))
		return false, nil
	}
	return true, nil
}

// waiting logs what a rotation waits for, which may be for ever: a StatefulSet whose updateStrategy is OnDelete.
func waiting(ctx context.Context, namespace string, w workload) {
	klog.FromContext(ctx).Info("Waiting with the rotation of the CA of etcd until all pods are ready and have the current pod template", "kind", w.kind, "name", klog.KRef(namespace, w.name))
}
