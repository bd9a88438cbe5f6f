package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	typed "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// ordinaryPause is the time between two writes.
const ordinaryPause = 20 * time.Millisecond

// ordinaryWrites creates and changes small Websites as users do, whom another user must
// not disturb.
type ordinaryWrites struct {
	websites  typed.WebsiteInterface
	namespace string

	mu        sync.Mutex
	latencies []time.Duration
	failed    int
	last      error
	// stored maps names to the acknowledged values of the annotation.
	stored map[string]string
}

// valueAnnotation holds the value of the last write.
const valueAnnotation = "example.com/value"

func (o *ordinaryWrites) run(ctx context.Context, writer int) {
	for i := 0; ctx.Err() == nil; i++ {
		name, value := fmt.Sprintf("w%d-%d", writer, i/10), fmt.Sprint(i)
		start := time.Now()
		var err error
		if i%10 == 0 {
			_, err = o.websites.Create(context.WithoutCancel(ctx),
				framework.NewWebsite(o.namespace, name, framework.WithReplicas(0), func(w *v1beta1.Website) {
					w.Annotations = map[string]string{valueAnnotation: value}
					w.Spec.Suspend = new(true)
				}), metav1.CreateOptions{})
		} else {
			_, err = o.websites.Patch(context.WithoutCancel(ctx), name, types.MergePatchType,
				fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, valueAnnotation, value), metav1.PatchOptions{})
		}
		o.answered(name, value, time.Since(start), err)
		select {
		case <-ctx.Done():
		case <-time.After(ordinaryPause):
		}
	}
}

func (o *ordinaryWrites) answered(name, value string, latency time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.latencies = append(o.latencies, latency)
	if err != nil {
		o.failed, o.last = o.failed+1, err
		return
	}
	o.stored[name] = value
}

func (o *ordinaryWrites) sorted() []time.Duration {
	slices.Sort(o.latencies)
	return o.latencies
}

// check reads all Websites, which must have the acknowledged values.
func (o *ordinaryWrites) check(t *testing.T) {
	t.Helper()
	list, err := o.websites.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, w := range list.Items {
		got[w.Name] = w.Annotations[valueAnnotation]
	}
	for name, value := range o.stored {
		if got[name] != value {
			t.Errorf("%s has value %q, and %q was acknowledged", name, got[name], value)
		}
	}
}
