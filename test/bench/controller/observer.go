package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

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

// see records a Website.
func (o *observer) see(w *website, now time.Time) {
	if !w.isReady() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.ready[w.Metadata.Name]
	if len(seen) == 0 || seen[len(seen)-1].generation < w.Status.ObservedGeneration {
		o.ready[w.Metadata.Name] = append(seen, sighting{w.Status.ObservedGeneration, now})
	}
}

// seeAvailable records a Deployment.
func (o *observer) seeAvailable(d *appsv1.Deployment, now time.Time) {
	if d.Status.ObservedGeneration == 0 || d.Status.AvailableReplicas < *d.Spec.Replicas {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.available[d.Name]; !known {
		o.available[d.Name] = now
	}
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
	at, known := o.available[name]
	return at, known
}

// watchWebsites watches from the state at its begin until ctx ends.
func (o *observer) watchWebsites(ctx context.Context, c *measure.Client, path string) (func(), error) {
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
		return nil, fmt.Errorf("watching Websites: %w", err)
	}
	return func() {
		for {
			version = o.readWebsites(response, version)
			if response, err = open(); err != nil {
				o.fail(fmt.Errorf("watching Websites again: %w", err))
				return
			}
		}
	}, nil
}

// readWebsites reads a watch to its end, and returns the version from which to go on: API
// servers end a watch whose client is slow for a moment.
func (o *observer) readWebsites(response *http.Response, version string) string {
	defer func() { _ = response.Body.Close() }()
	for decoder := json.NewDecoder(response.Body); ; {
		var event struct {
			Type   watch.EventType `json:"type"`
			Object website         `json:"object"`
		}
		if decoder.Decode(&event) != nil {
			return version
		}
		switch event.Type {
		case watch.Added, watch.Modified:
			o.see(&event.Object, time.Now())
			version = event.Object.Metadata.ResourceVersion
		case watch.Error:
			o.fail(errors.New("watching Websites: the server has sent an error"))
		}
	}
}

// watchDeployments is watchWebsites for Deployments.
func (o *observer) watchDeployments(ctx context.Context, kube kubernetes.Interface, namespace string) (func(), error) {
	options := metav1.ListOptions{TimeoutSeconds: ptr.To(int64(watchSeconds))}
	watcher, err := kube.AppsV1().Deployments(namespace).Watch(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("watching Deployments: %w", err)
	}
	return func() {
		for {
			for event := range watcher.ResultChan() {
				switch object := event.Object.(type) {
				case *appsv1.Deployment:
					o.seeAvailable(object, time.Now())
					options.ResourceVersion = object.ResourceVersion
				default:
					o.fail(fmt.Errorf("watching Deployments: %w", apierrors.FromObject(object)))
				}
			}
			if watcher, err = kube.AppsV1().Deployments(namespace).Watch(ctx, options); err != nil {
				o.fail(fmt.Errorf("watching Deployments again: %w", err))
				return
			}
		}
	}, nil
}
