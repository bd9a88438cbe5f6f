package install

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kubesites/website-apiserver/test/framework"
)

// keepTimeline saves the changes of the pods, Services and endpoints of a namespace with their
// times if the test fails, to explain a failed page request.
func keepTimeline(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var mu sync.Mutex
	var lines []string
	var watching sync.WaitGroup
	for _, start := range []func(context.Context, metav1.ListOptions) (watch.Interface, error){
		client.CoreV1().Pods(namespace).Watch, client.CoreV1().Services(namespace).Watch,
		client.DiscoveryV1().EndpointSlices(namespace).Watch,
	} {
		watcher, err := start(ctx, metav1.ListOptions{})
		if err != nil {
			cancel()
			t.Fatal(err)
		}
		watching.Go(func() {
			for event := range watcher.ResultChan() {
				mu.Lock()
				lines = append(lines, time.Now().UTC().Format("15:04:05.000")+" "+string(event.Type)+" "+describe(event.Object))
				mu.Unlock()
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		watching.Wait()
		if t.Failed() {
			framework.WriteFile(t, framework.Path("_artifacts", "install", "timeline-"+namespace+".txt"),
				[]byte(strings.Join(lines, "\n")+"\n"))
		}
	})
}

func describe(object any) string {
	switch o := object.(type) {
	case *corev1.Pod:
		return fmt.Sprintf("Pod %s %s %s ready %t, deleted %v", o.Name, o.Status.PodIP, o.Status.Phase, isReady(*o),
			o.DeletionTimestamp)
	case *corev1.Service:
		return fmt.Sprintf("Service %s %v to port %s", o.Name, o.Spec.Selector, o.Spec.Ports[0].TargetPort.String())
	case *discoveryv1.EndpointSlice:
		text := "EndpointSlice " + o.Name
		for _, port := range o.Ports {
			text += fmt.Sprintf(" port %d", *port.Port)
		}
		for _, endpoint := range o.Endpoints {
			text += fmt.Sprintf(" %s ready %t", endpoint.Addresses[0], *endpoint.Conditions.Ready)
		}
		return text
	}
	return fmt.Sprintf("%T", object)
}
