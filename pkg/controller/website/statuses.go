package website

import (
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// statusDelay is how long a changed status waits for more changes: a
	// Deployment that rolls out changes many times a second. That the site
	// becomes ready, or is no longer, does not wait.
	statusDelay = time.Second
	// progressDelay is how long mere progress of a rollout waits for more: see
	// isProgress. It is longer than the pods of most sites take to start one after
	// the other, and bounds for how long a rollout that stands still looks as it
	// did before.
	progressDelay = time.Minute
	// settled is returned by due when there is nothing to write.
	settled = -1
	// lagLimit is how long a cache may lag behind what was seen before it is
	// believed all the same.
	lagLimit = 30 * time.Second
)

// statuses remembers about the statuses of Websites what the caches do not show
// yet.
type statuses struct {
	// delay and progressDelay are the constants, unless a test has no time.
	delay, progressDelay time.Duration

	mu    sync.Mutex
	sites map[cache.ObjectName]*statusMemory
}

type statusMemory struct {
	// since is when the status began to differ from what was reported, and news
	// when it began to differ in more than progress. Zero while it does not.
	since, news time.Time
	// hasty is true when the last write did not wait. The counts in it are those
	// from before whatever made it urgent.
	hasty bool
	// base is the resource version from which written came.
	base    string
	written *v1beta1.Website
	// deployment, version and seen are the newest Deployment that a status was
	// computed from, and when that was.
	deployment types.UID
	version    string
	seen       time.Time
}

func (s *statuses) memory(key cache.ObjectName) *statusMemory {
	if s.sites == nil {
		s.sites = map[cache.ObjectName]*statusMemory{}
	}
	known := s.sites[key]
	if known == nil {
		known = &statusMemory{}
		s.sites[key] = known
	}
	return known
}

// forget drops what is known of a Website that is gone.
func (s *statuses) forget(key cache.ObjectName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sites, key)
}

// latest returns the Website as it was written last, as long as the cache shows
// it as it was before that.
func (s *statuses) latest(key cache.ObjectName, cached *v1beta1.Website) *v1beta1.Website {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.memory(key)
	if known.written == nil {
		return cached
	}
	if known.base != "" && known.base == cached.ResourceVersion && known.written.UID == cached.UID {
		return known.written
	}
	known.written = nil
	return cached
}

// wrote remembers what became of a Website by a write.
func (s *statuses) wrote(key cache.ObjectName, from, written *v1beta1.Website) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.memory(key)
	// A chain of writes keeps the base that the cache shows.
	if known.written == nil || known.written.ResourceVersion != from.ResourceVersion {
		known.base = from.ResourceVersion
	}
	known.written, known.since, known.news = written, time.Time{}, time.Time{}
	known.hasty = isUrgent(from.Status.Conditions, written.Status.Conditions)
}

// outdated reports whether a Deployment is older than one that has been seen
// before. A pass that wrote has seen more than the cache shows to the next one.
func (s *statuses) outdated(key cache.ObjectName, deployment *appsv1.Deployment, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.memory(key)
	if known.deployment == deployment.UID && now.Sub(known.seen) < lagLimit {
		order, err := resourceversion.CompareResourceVersion(deployment.ResourceVersion, known.version)
		if err == nil && order < 0 {
			return true
		}
	}
	known.deployment, known.version, known.seen = deployment.UID, deployment.ResourceVersion, now
	return false
}

// due returns how long to wait until a status may be written: 0 for now, settled
// for never because nothing has changed.
func (s *statuses) due(key cache.ObjectName, site *v1beta1.Website, status *v1beta1.WebsiteStatus, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.memory(key)
	if apiequality.Semantic.DeepEqual(&site.Status, status) {
		known.since, known.news = time.Time{}, time.Time{}
		return settled
	}
	if isUrgent(site.Status.Conditions, status.Conditions) {
		return 0
	}
	if known.since.IsZero() {
		known.since = now
	}
	if !known.hasty && isProgress(&site.Status, status) {
		known.news = time.Time{}
		return max(0, s.progressDelay-now.Sub(known.since))
	}
	if known.news.IsZero() {
		known.news = now
	}
	return max(0, s.delay-now.Sub(known.news))
}

// isUrgent reports whether a site becomes ready, or is no longer.
func isUrgent(before, after []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(before, v1beta1.WebsiteReady) != meta.IsStatusConditionTrue(after, v1beta1.WebsiteReady)
}
