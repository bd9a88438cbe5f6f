package devcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// The annotation that makes kwok answer for a node.
	simulatedAnnotation, simulatedValue = "kwok.x-k8s.io/node", "fake"
	// More would not fit into the address ranges below.
	maxSimulatedNodes = 250
	// fieldManager owns what this package applies.
	fieldManager = "devcluster"
)

// nodeNames are the names of the nodes that a cluster has.
func nodeNames(o Options) []string {
	var names []string
	switch o.Node {
	case NodeReal:
		names = append(names, realNode)
	case NodeSimulated:
		for i := range o.SimulatedNodes {
			names = append(names, simulatedNode(i))
		}
	}
	return names
}

// deleteOtherNodes deletes the nodes that the cluster had before, in another mode, and the
// pods on them: nothing on a node that is gone confirms their end, and Kubernetes would
// wait for a while whether it comes back.
func deleteOtherNodes(ctx context.Context, client kubernetes.Interface, names []string) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for _, node := range nodes.Items {
		if slices.Contains(names, node.Name) {
			continue
		}
		if err := client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting node %s: %w", node.Name, err)
		}
		pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node.Name})
		if err != nil {
			return fmt.Errorf("listing the pods of node %s: %w", node.Name, err)
		}
		for _, pod := range pods.Items {
			err := client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0))
			if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("deleting pod %s of node %s: %w", pod.Name, node.Name, err)
			}
		}
	}
	return nil
}

// allowKubeletAPI lets kube-apiserver ask the kubelet for logs, exec and the like.
func allowKubeletAPI(ctx context.Context, client kubernetes.Interface) error {
	binding := rbacv1ac.ClusterRoleBinding("devcluster-kubelet-api").
		WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName("system:kubelet-api-admin")).
		WithSubjects(rbacv1ac.Subject().WithAPIGroup(rbacv1.GroupName).WithKind(rbacv1.UserKind).WithName(kubeletClientUser))
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	if _, err := client.RbacV1().ClusterRoleBindings().Apply(ctx, binding, options); err != nil {
		return fmt.Errorf("letting kube-apiserver use the kubelet's API: %w", err)
	}
	return nil
}

func simulatedNode(i int) string { return fmt.Sprintf("simulated-%d", i) }

// nodeIP and podRange are made up, so that status and endpoints look like real ones.
func nodeIP(i int) string   { return net.IPv4(192, 0, 2, byte(i+2)).String() }
func podRange(i int) string { return fmt.Sprintf("10.%d.%d.0/17", 128+i/2, i%2*128) }

// applyNodes creates the simulated nodes.
func applyNodes(ctx context.Context, client kubernetes.Interface, count int) error {
	for i := range count {
		name := simulatedNode(i)
		node := corev1ac.Node(name).
			WithAnnotations(map[string]string{simulatedAnnotation: simulatedValue}).
			WithLabels(map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
				"type":                 "kwok",
			}).
			WithSpec(corev1ac.NodeSpec().WithPodCIDR(podRange(i)).WithPodCIDRs(podRange(i))).
			WithStatus(corev1ac.NodeStatus().WithAddresses(
				corev1ac.NodeAddress().WithType(corev1.NodeInternalIP).WithAddress(nodeIP(i)),
				corev1ac.NodeAddress().WithType(corev1.NodeHostName).WithAddress(name)))
		options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
		if _, err := client.CoreV1().Nodes().Apply(ctx, node, options); err != nil {
			return fmt.Errorf("applying node %s: %w", name, err)
		}
	}
	return nil
}

// nodesReady says in an error which node is not ready.
func nodesReady(ctx context.Context, client kubernetes.Interface, names []string) error {
	for _, name := range names {
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
			return fmt.Errorf("node %s is not Ready: %s", node.Name, why)
		}
		// kube-controller-manager removes the taint a little after the node is ready;
		// pods are not scheduled before.
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("node %s has taint %s", node.Name, node.Spec.Taints[0].Key)
		}
	}
	return nil
}

// podsAdmitted fails until pods can be created: admission wants the ServiceAccount that
// kube-controller-manager gives each namespace.
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
