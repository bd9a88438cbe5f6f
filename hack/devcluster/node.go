package devcluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// The annotation makes kwok manage a node.
	simulatedAnnotation, simulatedValue = "kwok.x-k8s.io/node", "fake"
	simulatedNode                       = "simulated-0"
	// These are invented, so that status and endpoints look like real ones.
	simulatedAddress, simulatedPods = "192.0.2.2", "10.128.0.0/17"
	// fieldManager is the field manager of this package.
	fieldManager = "devcluster"
)

// nodeName is the name of the cluster's only node.
func nodeName(mode NodeMode) string {
	if mode == NodeReal {
		return realNode
	}
	return simulatedNode
}

// applySimulatedNode creates the simulated node.
func applySimulatedNode(ctx context.Context, client kubernetes.Interface) error {
	// The capacity exceeds the needs of every test.
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Pi"), corev1.ResourcePods: resource.MustParse("1M"),
	}
	node := corev1ac.Node(simulatedNode).
		WithAnnotations(map[string]string{simulatedAnnotation: simulatedValue}).
		WithLabels(map[string]string{
			corev1.LabelHostname:   simulatedNode,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: "amd64",
			"type":                 "kwok",
		}).
		WithSpec(corev1ac.NodeSpec().WithPodCIDR(simulatedPods).WithPodCIDRs(simulatedPods)).
		WithStatus(corev1ac.NodeStatus().WithCapacity(capacity).WithAllocatable(capacity).WithAddresses(
			corev1ac.NodeAddress().WithType(corev1.NodeInternalIP).WithAddress(simulatedAddress),
			corev1ac.NodeAddress().WithType(corev1.NodeHostName).WithAddress(simulatedNode)))
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	if _, err := client.CoreV1().Nodes().Apply(ctx, node, options); err != nil {
		return fmt.Errorf("applying node %s: %w", simulatedNode, err)
	}
	// The node may have an earlier status.
	if _, err := client.CoreV1().Nodes().ApplyStatus(ctx, node, options); err != nil {
		return fmt.Errorf("applying the status of node %s: %w", simulatedNode, err)
	}
	return nil
}

// nodeIsReady returns an error with the reason why the node takes no pods.
func nodeIsReady(ctx context.Context, client kubernetes.Interface, name string) error {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading node %s: %w", name, err)
	}
	ready, why := false, ""
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			ready, why = condition.Status == corev1.ConditionTrue, condition.Message
		}
	}
	if !ready {
		return fmt.Errorf("node %s is not Ready: %s", name, why)
	}
	// kube-controller-manager removes the taint a little after the node is ready;
	// pods are not scheduled before.
	if len(node.Spec.Taints) > 0 {
		return fmt.Errorf("node %s has taint %s", name, node.Spec.Taints[0].Key)
	}
	return nil
}

// podsAdmitted fails until pods can be created: admission requires the ServiceAccount
// that kube-controller-manager creates in each namespace.
func podsAdmitted(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return errors.New("kube-controller-manager has not created the default ServiceAccount yet")
	}
	if err != nil {
		return fmt.Errorf("reading the default ServiceAccount: %w", err)
	}
	return nil
}
