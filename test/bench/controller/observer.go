package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// watchSeconds is longer than any trial, so that no watch has to be begun again.
const watchSeconds = 6 * 60 * 60

// website has the fields of a Website that are read.
type website struct {
	Metadata struct {
		Name       string `json:"name"`
		Generation int64  `json:"generation"`

		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		Conditions         []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

func (w *website) isReady() bool {
	for _, condition := range w.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status == string(metav1.ConditionTrue)
		}
	}
	return false
}

// sighting is when a Website was first seen Ready with a generation of its spec, or a
// Deployment available.
type sighting struct {
	generation int64
	at         time.Time
}

// observer watches a namespace, as any client would.
type observer struct {
	mu sync.Mutex
	// ready are the sightings of Websites, by name and in the order of their generations.
	ready map[string][]sighting
	// available are the first sightings of Deployments.
	available map[string]time.Time
	// fail ends what waits for sightings.
	fail func(error)
}

func newObserver(fail func(error)) *observer {
	return &observer{ready: map[string][]sighting{}, available: map[string]time.Time{}, fail: fail}
}

// observe records a Website, and returns its version.
func (o *observer) observe(w *website, now time.Time) string {
	if !w.isReady() {
		return w.Metadata.ResourceVersion
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.ready[w.Metadata.Name]
	if len(seen) == 0 || seen[len(seen)-1].generation < w.Status.ObservedGeneration {
		o.ready[w.Metadata.Name] = append(seen, sighting{w.Status.ObservedGeneration, now})
	}
	return w.Metadata.ResourceVersion
}

// observeDeployment records a Deployment, and returns its version.
func (o *observer) observeDeployment(d *appsv1.Deployment, now time.Time) string {
	if d.Status.ObservedGeneration == 0 || d.Status.AvailableReplicas < *d.Spec.Replicas {
		return d.ResourceVersion
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.available[d.Name]; !ok {
		o.available[d.Name] = now
	}
	return d.ResourceVersion
}

// readyAt returns when a Website was Ready with at least a generation.
func (o *observer) readyAt(name string, generation int64) (time.Time, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.ready[name]
	i := slices.IndexFunc(seen, func(s sighting) bool { return s.generation >= generation })
	if i < 0 {
		return time.Time{}, false
	}
	return seen[i].at, true
}

func (o *observer) availableAt(name string) (time.Time, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.available[name]
	return at, ok
}

// watch watches from the state at its begin until ctx ends. record records an object and returns its version.
func watch[T any](ctx context.Context, o *observer, c *measure.Client, path string,
	record func(*T, time.Time) string) (func(), error) {
	version := ""
	open := func() (*http.Response, error) {
		query := url.Values{"watch": {"1"}, "timeoutSeconds": {strconv.Itoa(watchSeconds)}}
		if version != "" {
			query.Set("resourceVersion", version)
		}
		return c.Send(ctx, 0, measure.Request{Method: http.MethodGet, Path: path + "?" + query.Encode()})
	}
	response, err := open()
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", path, err)
	}
	return func() {
		// API servers end a watch whose client is slow for a moment.
		for ; err == nil; response, err = open() {
			for decoder := json.NewDecoder(response.Body); ; {
				var event struct {
					Type   apiwatch.EventType `json:"type"`
					Object T                  `json:"object"`
				}
				if decoder.Decode(&event) != nil {
					break
				}
				if event.Type == apiwatch.Error {
					o.fail(fmt.Errorf("watching %s: the server has sent an error", path))
				} else if event.Type != apiwatch.Deleted {
					version = record(&event.Object, time.Now())
				}
			}
			_ = response.Body.Close()
		}
		o.fail(fmt.Errorf("watching %s again: %w", path, err))
	}, nil
}
