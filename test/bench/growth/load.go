package growth

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// probeNamespace has no Websites.
const probeNamespace = metav1.NamespaceDefault

func namespaceOf(i, perNamespace int) string { return fmt.Sprintf("growth-%d", i/perNamespace) }

func nameOf(i int) string { return fmt.Sprintf("site-%d", i) }

// newWebsite has what most have: a branch and a directory.
func newWebsite(i int) *v1beta1.Website {
	return &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Name: nameOf(i)},
		Spec: v1beta1.WebsiteSpec{
			DeploymentName: nameOf(i),
			Replicas:       ptr.To(int32(2)),
			Source: v1beta1.WebsiteSource{
				Git: &v1beta1.GitSource{Repository: "https://git.example.com/sites/" + nameOf(i) + ".git",
					Ref: &v1beta1.GitReference{Branch: "main"}}, Path: "public",
			},
			Service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeClusterIP},
		},
	}
}

// create creates Websites until there are as many as the stage has.
func (r *run) create(ctx context.Context, s *Stage) error {
	first, n := r.created, s.Websites-r.created
	for ; r.namespaces*r.Options.PerNamespace < s.Websites; r.namespaces++ {
		if err := r.proxied.CreateNamespace(ctx, fmt.Sprintf("growth-%d", r.namespaces)); err != nil {
			return err
		}
	}
	took := make([]float64, n)
	begin := time.Now()
	used, err := r.cpu(func() error {
		return measure.Concurrently(n, r.Options.Clients, func(_, i int) error {
			begin := time.Now()
			_, err := r.websites.WebsiteV1beta1().Websites(namespaceOf(first+i, r.Options.PerNamespace)).Create(ctx,
				newWebsite(first+i), metav1.CreateOptions{})
			took[i] = measure.Milliseconds(time.Since(begin))
			return err
		})
	})
	if err != nil {
		return err
	}
	r.created = s.Websites
	s.add("create, per second", float64(n)/time.Since(begin).Seconds())
	s.add("create, median ms", measure.Median(took))
	s.add("create, p99 ms", measure.Quantile(took, 0.99))
	s.add("create, CPU ms", measure.Milliseconds(used)/float64(n))
	return nil
}

// change measures from the begin of each change to the arrival of its event at a watch of all
// Websites.
func (r *run) change(ctx context.Context, s *Stage) error {
	list, err := r.websites.WebsiteV1beta1().Websites(probeNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	watcher, err := r.websites.WebsiteV1beta1().Websites("").Watch(ctx,
		metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	var took []float64
	for change := range r.Options.Events {
		// Spread over all of them.
		i := change * r.created / r.Options.Events
		begin := time.Now()
		changed, err := r.websites.WebsiteV1beta1().Websites(namespaceOf(i, r.Options.PerNamespace)).Patch(ctx, nameOf(i),
			types.MergePatchType, []byte(`{"spec":{"pin":{"commit":"`+fmt.Sprintf("%020x%020x", s.Websites, change)+`"}}}`),
			metav1.PatchOptions{})
		if err != nil {
			return err
		}
		at, err := awaitEvent(ctx, watcher, changed.ResourceVersion)
		if err != nil {
			return err
		}
		took = append(took, measure.Milliseconds(at.Sub(begin)))
	}
	s.add("change to event, median ms", measure.Median(took))
	s.add("change to event, p99 ms", measure.Quantile(took, 0.99))
	return nil
}

// eventTimeout is far more than an event takes.
const eventTimeout = time.Minute

// awaitEvent reads a watch until a change of this version.
func awaitEvent(ctx context.Context, watcher watch.Interface, version string) (time.Time, error) {
	timeout := time.After(eventTimeout)
	for {
		select {
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		case <-timeout:
			return time.Time{}, fmt.Errorf("no event of version %s after %s", version, eventTimeout)
		case event, open := <-watcher.ResultChan():
			if !open {
				return time.Time{}, fmt.Errorf("the watch has ended before version %s", version)
			}
			if event.Type == watch.Error {
				return time.Time{}, fmt.Errorf("watching Websites: %w", apierrors.FromObject(event.Object))
			}
			if w, ok := event.Object.(*v1beta1.Website); ok && w.ResourceVersion == version {
				return time.Now(), nil
			}
		}
	}
}
