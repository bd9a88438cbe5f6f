package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

var commitA, commitB = strings.Repeat("a", 40), strings.Repeat("b", 40)

// remote is the repository behind the Websites of a world. It also answers for the simulated pods:
// each serves the commit in its ConfigMap, or else the head of the repository.
type remote struct {
	mu   sync.Mutex
	head string
}

// push moves the head.
func (r *remote) push(commit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.head = commit
}

// answer returns a pod's response to a request through the pod proxy.
func (r *remote) answer(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	commit := r.head
	r.mu.Unlock()
	return framework.PodAnswers(func(pod *corev1.Pod) map[string]string {
		for _, volume := range pod.Spec.Volumes {
			if volume.Projected == nil {
				continue
			}
			for _, source := range volume.Projected.Sources {
				if source.ConfigMap == nil || !strings.HasSuffix(source.ConfigMap.Name, agentSuffix) {
					continue
				}
				if pin, err := pinOf(request.Context(), pod.Namespace, source.ConfigMap.Name); err == nil && pin != "" {
					return framework.Pinned(pin)
				}
			}
		}
		return framework.Serving(commit)
	}).Answer(kube, request)
}

// agentSuffix ends the names of the agents' ConfigMaps.
const agentSuffix = "-agent"

// pinOf returns the commit that a ConfigMap makes the agents serve, if any.
func pinOf(ctx context.Context, namespace, name string) (string, error) {
	configMap, err := kube.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	pin, err := requests.ParsePin([]byte(configMap.Data[requests.PinFile]))
	return pin.Commit, err
}

// publishes returns an error until a Website is served, follows its repository and reports that its
// pods serve a commit.
func (w world) publishes(ctx context.Context, name, commit string) error {
	return w.serves(ctx, name, commit, v1beta1.WebsiteReasonCommitPublished, "")
}

// serves returns an error until a Website is served and reports that its pods serve a commit, for a
// reason, and its agents are pinned to pin, unless that is empty.
func (w world) serves(ctx context.Context, name, commit, reason, pin string) error {
	if err := w.settled(ctx, name); err != nil {
		return err
	}
	site, err := w.get(ctx, name)
	if err != nil {
		return err
	}
	synced := meta.FindStatusCondition(site.Status.Conditions, v1beta1.WebsiteSynced)
	if site.Status.Commit != commit || synced == nil || synced.Reason != reason ||
		synced.ObservedGeneration != site.Generation {
		return fmt.Errorf("Website %s (generation %d), which is to serve %s for the reason %s: status %+v", name,
			site.Generation, commit, reason, site.Status)
	}
	got, err := pinOf(ctx, w.namespace, site.Spec.DeploymentName+agentSuffix)
	if err != nil {
		return err
	}
	if got != pin {
		return fmt.Errorf("the agents of Website %s are to serve commit %q, want %q", name, got, pin)
	}
	return nil
}

// publishedKubia is a scenario.before: servedKubia with an observed commit.
func publishedKubia(ctx context.Context, w world) error {
	if err := createKubia(ctx, w); err != nil {
		return err
	}
	return waitUntil(ctx, func(ctx context.Context) error { return w.publishes(ctx, kubia, commitA) })
}

// kubiaSuspended is a scenario.until. The head moves on afterwards, and the site must not
// follow it.
func kubiaSuspended(ctx context.Context, w world) error {
	if err := w.serves(ctx, kubia, commitA, v1beta1.WebsiteReasonSuspended, commitA); err != nil {
		return err
	}
	w.remote.push(commitB)
	return nil
}
