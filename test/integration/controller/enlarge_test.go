package controller

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/test/framework"
)

// aVolume can be enlarged, as far as the API is concerned: it has no driver.
const aVolume = `
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NAME}, provisioner: example.com/none,
 allowVolumeExpansion: true}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: NAME}, spec: {storageClassName: NAME,
 capacity: {storage: 8Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /none}}}
`

// TestEnlargeTheVolume runs the commands of docs/storage.md for the StatefulSet of artifacts/default: its pod is not
// replaced when the StatefulSet is made again with a larger claim.
func TestEnlargeTheVolume(t *testing.T) {
	ctx, client, namespace := t.Context(), framework.Admin(t).Kubernetes, framework.NewNamespace(t)
	volume := strings.ReplaceAll(aVolume, "NAME", namespace)
	framework.KubectlWith(t, framework.Stdin(volume), "create", "-f", "-")
	t.Cleanup(func() {
		_, _, err := framework.Cluster.KubectlWith(context.Background(), framework.Stdin(volume), "delete", "--wait=false",
			"-f", "-")
		if err != nil {
			t.Error(err)
		}
	})

	create := func(size string) *appsv1.StatefulSet {
		created, err := client.AppsV1().StatefulSets(namespace).Create(ctx, statefulSet(t, namespace, size),
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return created
	}
	waitPod := func(owner *appsv1.StatefulSet) (pod *corev1.Pod) {
		framework.WaitFor(t, "the pod", func(ctx context.Context) (err error) {
			pod, err = client.CoreV1().Pods(namespace).Get(ctx, "website-apiserver-0", metav1.GetOptions{})
			if err == nil && (!metav1.IsControlledBy(pod, owner) || pod.Status.Phase != corev1.PodRunning) {
				err = errors.New("it does not run under its StatefulSet")
			}
			return err
		})
		return pod
	}
	before := waitPod(create("8Gi"))

	page, err := os.ReadFile(framework.Path("docs", "storage.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Enlarge the volume\n")
	section, _, _ = strings.Cut(section, "\n## ")
	ran := 0
	for line := range strings.Lines(section) {
		command, found := strings.CutPrefix(strings.TrimSpace(line), "$ kubectl ")
		if !found {
			continue
		}
		ran++
		runAsPrinted(t, "kubectl "+strings.ReplaceAll(command, "-n website-system", "-n "+namespace))
		if strings.HasPrefix(command, "patch pvc") {
			// As its driver would.
			framework.Kubectl(t, "patch", "pvc", "data-website-apiserver-0", "-n", namespace, "--subresource=status",
				"-p", `{"status":{"capacity":{"storage":"20Gi"}}}`)
		}
	}
	if ran != 4 {
		t.Errorf("%d commands were run, want 4", ran)
	}
	if after := waitPod(create("20Gi")); after.UID != before.UID {
		t.Errorf("the pod was replaced")
	}
}

// statefulSet returns that of artifacts/default, for simulated nodes.
func statefulSet(t *testing.T, namespace, size string) *appsv1.StatefulSet {
	t.Helper()
	for _, manifest := range strings.Split(framework.Kubectl(t, "kustomize", framework.Path("artifacts", "default")),
		"\n---\n") {
		if !strings.Contains(manifest, "\nkind: StatefulSet\n") {
			continue
		}
		set := &appsv1.StatefulSet{}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(manifest, "storage: 8Gi", "storage: "+size)), set); err != nil {
			t.Fatal(err)
		}
		set.Namespace, set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = namespace, &namespace
		set.Spec.Template.Spec.ServiceAccountName, set.Spec.Template.Spec.PriorityClassName = "default", ""
		return set
	}
	t.Fatal("artifacts/default has no StatefulSet")
	return nil
}
