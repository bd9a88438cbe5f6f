package website

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/queue"
)

func TestNameTakenWaitsWithoutBackoff(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.store(foreignDeployment())
	for range 5 {
		if got := f.work(testKey); got != problem.Taken {
			t.Fatalf("result %v", got)
		}
	}
	if got := f.controller.queue.NumRequeues(testKey); got != 0 {
		t.Errorf("the key is in backoff (%d): the name would come free long before it is tried", got)
	}
	waiting := &recordingQueue{TypedRateLimitingInterface: f.controller.queue.TypedRateLimitingInterface}
	f.controller.queue.TypedRateLimitingInterface = waiting
	for range 100 {
		f.work(testKey)
		if waiting.wait < queue.PeriodicRetry || waiting.wait > 2*queue.PeriodicRetry {
			t.Fatalf("the next try is in %v", waiting.wait)
		}
	}
}

func TestInvalidSpecIsNotRetried(t *testing.T) {
	f := newFixture(t, newWebsite(func(website *v1beta1.Website) { website.Spec.Source.Git.Repository = "-x" }))
	if got := f.work(testKey); got != problem.Failure {
		t.Errorf("result %v", got)
	}
	if got := f.controller.queue.NumRequeues(testKey); got != 0 {
		t.Errorf("retried %d times", got)
	}
}

// recordingQueue records the delay of the last key.
type recordingQueue struct {
	workqueue.TypedRateLimitingInterface[cache.ObjectName]
	wait time.Duration
}

func (q *recordingQueue) AddAfter(_ cache.ObjectName, wait time.Duration) { q.wait = wait }

// TestServerHints responds with a Retry-After of a minute, which is longer than the first backoff.
func TestServerHints(t *testing.T) {
	f := newFixture(t, newWebsite())
	waiting := &recordingQueue{TypedRateLimitingInterface: f.controller.queue.TypedRateLimitingInterface}
	f.controller.queue.TypedRateLimitingInterface = waiting
	fail(&f.kube.Fake, "patch", "deployments", apierrors.NewTooManyRequests("later", 60))
	f.work(testKey)
	if waiting.wait != time.Minute {
		t.Errorf("the next try is in %v, want the minute that the server requests", waiting.wait)
	}
}
