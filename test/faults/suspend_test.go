package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
	"github.com/kubesites/website-apiserver/test/framework"
)

var commitA, commitB = strings.Repeat("a", 40), strings.Repeat("b", 40)

// remote is the repository behind the Websites of a world, and answers for the
// pods, which are simulated: each serves the commit that it is set to, or the
// head of the repository.
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

// answer is what a pod says to a request through the pod proxy.
func (r *remote) answer(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	commit := r.head
	r.mu.Unlock()
	return framework.PodAnswers(func(pod *corev1.Pod) map[string]string {
		if kept := workload.CommitOf(&pod.Spec); kept != "" {
			return framework.Serving(kept)
		}
		return framework.Serving(commit)
	}).Answer(kube, request)
}

// publishes returns an error until a Website is served, follows its repository
// and says that its pods serve a commit.
func (w world) publishes(ctx context.Context, name, commit string) error {
	return w.serves(ctx, name, commit, v1beta1.WebsiteReasonCommitPublished, "")
}

// serves returns an error until a Website is served and says that its pods serve
// a commit, for a reason, and its pods are set to stay on a commit if it is not
// empty.
func (w world) serves(ctx context.Context, name, commit, reason, kept string) error {
	site, err := w.get(ctx, name)
	if err != nil {
		return err
	}
	synced := meta.FindStatusCondition(site.Status.Conditions, v1beta1.WebsiteSynced)
	if site.Status.Commit != commit || synced == nil || synced.Reason != reason || synced.ObservedGeneration != site.Generation {
		return fmt.Errorf("Website %s (generation %d), which is to serve %s for the reason %s: status %+v", name, site.Generation, commit, reason, site.Status)
	}
	deployment, err := w.deployment(ctx, site.Spec.DeploymentName)
	if err != nil {
		return err
	}
	if got := workload.CommitOf(&deployment.Spec.Template.Spec); got != kept {
		return fmt.Errorf("the pods of Website %s are set to stay on commit %q, want %q", name, got, kept)
	}
	return w.settled(ctx, name)
}

// publishedKubia is for scenario.before: servedKubia, and what it serves is seen.
func publishedKubia(ctx context.Context, w world) error {
	if err := createKubia(ctx, w); err != nil {
		return err
	}
	return waitUntil(ctx, func(ctx context.Context) error { return w.publishes(ctx, kubia, commitA) })
}

// kubiaSuspended is for scenario.until. What comes after must not see the site
// follow its repository, whose head moves on.
func kubiaSuspended(ctx context.Context, w world) error {
	if err := w.serves(ctx, kubia, commitA, v1beta1.WebsiteReasonSuspended, commitA); err != nil {
		return err
	}
	w.remote.push(commitB)
	return nil
}
