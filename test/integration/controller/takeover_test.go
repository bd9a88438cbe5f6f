package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/app"
	"github.com/kubesites/website-apiserver/test/framework"
)

// originalChildren creates the children of the original controller for a Website: they lack
// the managed-by label, git-sync is an ordinary container, and the Service refers to its port
// by number.
func originalChildren(t *testing.T, namespace, name string) (*appsv1.Deployment, *corev1.Service) {
	t.Helper()
	return originalChildrenAs(t, namespace, name, name+"-website", "git-sync")
}

// originalChildrenAs is originalChildren for a deploymentName. Another gitRepo results in another
// pod template.
func originalChildrenAs(
	t *testing.T, namespace, name, deploymentName, gitSync string,
) (*appsv1.Deployment, *corev1.Service) {
	t.Helper()
	client, podLabels := framework.Admin(t).Kubernetes, map[string]string{"app": "website-nginx", "controller": name}
	deployment, err := client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: deploymentName, Labels: podLabels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: podLabels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: podLabels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{
					{Name: "nginx", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: 80}}},
					{Name: "git-sync", Image: gitSync},
				}},
			},
		},
	}, metav1.CreateOptions{FieldManager: "original"})
	if err != nil {
		t.Fatal(err)
	}
	service, err := client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: deploymentName + "-npsvc", Labels: map[string]string{"app": "website", "controller": name},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, Selector: podLabels,
			Ports: []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(80)}},
		},
	}, metav1.CreateOptions{FieldManager: "original"})
	if err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the original Service reaches a pod", func(ctx context.Context) error {
		_, err := readyEndpoints(ctx, t, namespace, service.Name)
		return err
	})
	return deployment, service
}

// own makes a Website the owner of an object.
func own(t *testing.T, w *v1alpha1.Website, kind, name string) {
	t.Helper()
	framework.Kubectl(t, "patch", kind, name, "-n", w.Namespace, "--type=merge", "-p", fmt.Sprintf(
		`{"metadata":{"ownerReferences":[{"apiVersion":"mycontroller.nevermosby.io/v1alpha1","kind":"Website","name":%q,`+
			`"uid":%q,"controller":true}]}}`, w.Name, w.UID))
}

// takeOver makes a Website the owner of the children of the original controller.
func takeOver(t *testing.T, namespace, name string) *v1alpha1.Website {
	t.Helper()
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, name))
	framework.WaitCondition(t, namespace, name, v1beta1.WebsiteReady, metav1.ConditionFalse,
		v1beta1.WebsiteReasonNameTaken)
	own(t, w, "service", name+"-website-npsvc")
	own(t, w, "deployment", name+"-website")
	framework.Kubectl(t, "annotate", "website/"+name, "-n", namespace, "example.com/reconcile=now")
	return w
}

// requireReadySince fails the test unless a pod has been ready for that time: the Service routes to
// it only after every kube-proxy has received its endpoint.
func requireReadySince(t *testing.T, namespace, name string, least time.Duration) {
	t.Helper()
	pod, err := framework.Admin(t).Kubernetes.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, condition := range pod.Status.Conditions {
		if since := time.Since(condition.LastTransitionTime.Time); condition.Type == corev1.PodReady && since < least {
			t.Errorf("the Service leads to a pod that has been ready for %s, want at least %s", since, least)
		}
	}
}

// requireNodePortURL fails the test unless each status with a node port has a URL with it, until
// the Website is Ready.
func requireNodePortURL(t *testing.T, statuses watch.Interface, port int32) {
	t.Helper()
	for event := range statuses.ResultChan() {
		site, ok := event.Object.(*v1beta1.Website)
		if !ok || site.Status.NodePort == 0 {
			continue
		}
		hasPort := func(url string) bool { return strings.HasSuffix(url, fmt.Sprintf(":%d", port)) }
		if !slices.ContainsFunc(site.Status.URLs, hasPort) {
			t.Errorf("the URLs are %q, want one with port %d: %+v", site.Status.URLs, port, site.Status.Conditions)
		}
		if meta.IsStatusConditionTrue(site.Status.Conditions, v1beta1.WebsiteReady) {
			return
		}
	}
	t.Error("the watch has ended")
}

// TestTakeover makes a Website the owner of the children of the original controller: its pods are
// replaced once, and the Service always has a ready endpoint at a port on which the pod listens.
func TestTakeover(t *testing.T) {
	stopController(t)
	framework.StartController(t, app.Instruments{TakeoverReadySeconds: 15},
		append(controllerFlags(t), "--commit-observation=None")...)
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t).Kubernetes
	_, service := originalChildren(t, namespace, "kubia")
	before, err := readyEndpoints(ctx, t, namespace, service.Name)
	if err != nil {
		t.Fatal(err)
	}
	ofService := metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service.Name}
	slicesWatch, err := client.DiscoveryV1().EndpointSlices(namespace).Watch(ctx, ofService)
	if err != nil {
		t.Fatal(err)
	}
	defer slicesWatch.Stop()
	websites := framework.Admin(t).Websites.WebsiteV1beta1().Websites(namespace)
	statuses, err := websites.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer statuses.Stop()
	takeOver(t, namespace, "kubia")

	for done := false; !done; {
		event, ok := <-slicesWatch.ResultChan()
		if !ok {
			t.Fatal("the watch has ended")
		}
		slice, ok := event.Object.(*discoveryv1.EndpointSlice)
		if !ok {
			continue
		}
		ready := readyPods(slice)
		if len(ready) == 0 {
			t.Fatalf("the Service reaches no pod: %+v", slice)
		}
		for _, pod := range ready {
			isFormer := slices.Contains(before, pod)
			if port := *slice.Ports[0].Port; isFormer != (port == 80) {
				t.Fatalf("requests are sent to port %d of pod %s, a former one: %t", port, pod, isFormer)
			}
			done = !isFormer
			if done {
				requireReadySince(t, namespace, pod, 4*time.Second)
			}
		}
	}

	framework.WaitFor(t, "the Deployment is taken over", func(ctx context.Context) error {
		deployment, err := client.AppsV1().Deployments(namespace).Get(ctx, "kubia-website", metav1.GetOptions{})
		if err == nil && (deployment.Spec.MinReadySeconds != 0 || !rolledOut(deployment)) {
			err = fmt.Errorf("minReadySeconds %d, status %+v", deployment.Spec.MinReadySeconds, deployment.Status)
		}
		return err
	})
	framework.WaitSettled(t, namespace, "kubia")
	requireNodePortURL(t, statuses, service.Spec.Ports[0].NodePort)
	deployment, err := client.AppsV1().Deployments(namespace).Get(ctx, "kubia-website", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &deployment.Spec.Template.Spec
	if len(pod.InitContainers) != 2 || len(pod.Containers) != 1 || len(pod.Containers[0].Ports) != 2 {
		t.Errorf("pod template %+v, want only website-controller's containers", pod)
	}
	for _, entry := range deployment.ManagedFields {
		if entry.Manager == "original" {
			t.Errorf("the original controller still manages %s", entry.FieldsV1)
		}
	}
	replicaSets, err := client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(replicaSets.Items); n != 2 {
		t.Errorf("there are %d ReplicaSets, want that the pods are replaced once", n)
	}
	current, err := client.CoreV1().Services(namespace).Get(ctx, service.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := current.Spec.Ports[0].NodePort, service.Spec.Ports[0].NodePort; got != want ||
		current.UID != service.UID {
		t.Errorf("the node port was %d, is %d", want, got)
	}
	exact := map[string]string{labelDeployment: "kubia-website"}
	if port := current.Spec.Ports[0].TargetPort; port != intstr.FromString("http") ||
		!maps.Equal(current.Spec.Selector, exact) {
		t.Errorf("the Service sends requests to port %s of %v", port.String(), current.Spec.Selector)
	}
}

// TestTakeoverWrittenBack has the original controller write the Deployment again after the
// takeover: the site stays online, and a condition of the Website names the cause.
func TestTakeoverWrittenBack(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t).Kubernetes
	original, service := originalChildren(t, namespace, "kubia")
	w := takeOver(t, namespace, "kubia")
	deployments := client.AppsV1().Deployments(namespace)
	framework.WaitFor(t, "the Deployment is taken over", func(ctx context.Context) error {
		deployment, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
		if err == nil && len(deployment.Spec.Template.Spec.InitContainers) == 0 {
			err = errors.New("not yet")
		}
		return err
	})
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		deployment, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
		if err != nil {
			return err
		}
		deployment.Labels, deployment.Annotations, deployment.Spec = original.Labels, original.Annotations, original.Spec
		_, err = deployments.Update(ctx, deployment, metav1.UpdateOptions{FieldManager: "original"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	conflict := framework.WaitCondition(t, namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionFalse,
		v1beta1.WebsiteReasonConflictingManager)
	if !strings.Contains(conflict.Message, `"original"`) {
		t.Errorf("message = %q, want the field manager", conflict.Message)
	}
	framework.WaitFor(t, "the Service reaches pods of the original controller", func(ctx context.Context) error {
		current, err := client.CoreV1().Services(namespace).Get(ctx, service.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if port := current.Spec.Ports[0].TargetPort; port != intstr.FromInt32(80) {
			return fmt.Errorf("it sends requests to port %s", port.String())
		}
		_, err = readyEndpoints(ctx, t, namespace, service.Name)
		return err
	})
}

// TestTakeoverAfterRename takes over from an original controller under which deploymentName has
// changed: it has left the children of the former name, and their pods match the selectors of the
// current ones.
func TestTakeoverAfterRename(t *testing.T) {
	t.Parallel()
	for name, formerGitSync := range map[string]string{
		"the name alone":        "git-sync",
		"the name and the repo": "git-sync-of-another-repository",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace, client := framework.NewNamespace(t), framework.Admin(t).Kubernetes
			websites := framework.Admin(t).Websites.WebsiteV1beta1().Websites(namespace)
			originalChildrenAs(t, namespace, "kubia", "former", formerGitSync)
			originalChildren(t, namespace, "kubia")
			w := takeOver(t, namespace, "kubia")
			own(t, w, "service", "former-npsvc")
			own(t, w, "deployment", "former")
			framework.WaitFor(t, "the Deployment is taken over", func(ctx context.Context) error {
				deployment, err := client.AppsV1().Deployments(namespace).Get(ctx, "kubia-website", metav1.GetOptions{})
				if err == nil && len(deployment.Spec.Template.Spec.InitContainers) == 0 {
					err = errors.New("not yet")
				}
				return err
			})
			former, err := client.AppsV1().Deployments(namespace).Get(t.Context(), "former", metav1.GetOptions{})
			if err != nil || len(former.Spec.Template.Spec.InitContainers) != 0 {
				t.Errorf("the former Deployment is not as it was: %v: %+v", err, former)
			}

			remove := []string{"delete", "-n", namespace, "deployment/former", "service/former-npsvc"}
			command := "kubectl " + strings.Join(remove, " ")
			named := func(want bool) {
				t.Helper()
				framework.WaitFor(t, fmt.Sprintf("Ready names the leftover children: %t", want), func(ctx context.Context) error {
					site, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
					if err != nil {
						return err
					}
					ready := meta.FindStatusCondition(site.Status.Conditions, v1beta1.WebsiteReady)
					if strings.Contains(ready.Message, command) != want {
						return fmt.Errorf("the message is %q", ready.Message)
					}
					return nil
				})
			}
			named(true)
			// The first event may be older than the Website's ownership of the former Deployment.
			note := waitEvent(t, w, v1beta1.WebsiteReasonLeftBehind)
			if !strings.Contains(note, "kubectl delete -n "+namespace) || !strings.Contains(note, "service/former-npsvc") {
				t.Errorf("the event is %q, want it to have the command", note)
			}
			framework.Kubectl(t, remove...)
			named(false)
		})
	}
}
