package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

var commitA, commitB = strings.Repeat("a", 40), strings.Repeat("b", 40)

// remote is the repository behind the Websites of a world, and answers for the
// pods, which are simulated: each serves the commit that it is told to, or the
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
	info, err := requestInfo.NewRequestInfo(request)
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(info.Name, ":")
	pod, err := kube.CoreV1().Pods(info.Namespace).Get(request.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	commit := r.head
	r.mu.Unlock()
	if kept := workload.CommitOf(&pod.Spec); kept != "" {
		commit = kept
	}
	body := map[string]string{
		"commit": commit, "startupz": "ok", "metrics": `git_sync_count_total{status="success"} 1`,
	}[info.Parts[len(info.Parts)-1]] + "\n"
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: request,
	}, nil
}

// publishes returns an error until a Website is served, follows its repository
// and says that its pods serve a commit.
func (w world) publishes(ctx context.Context, name, commit string) error {
	return w.serves(ctx, name, commit, v1beta1.WebsiteReasonCommitPublished, "")
}

// serves returns an error until a Website is served and says that its pods serve
// a commit, for a reason, and its pods are told to stay on a commit if it is not
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
		return fmt.Errorf("the pods of Website %s are told to stay on commit %q, want %q", name, got, kept)
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
