package api

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

const (
	// The server may hold two thirds of these writes for a watch that is not read. The windows of
	// HTTP/2 take half.
	writeCount, writeSize = 288, 64 << 10
	maxHeld               = writeCount * writeSize / 3 * 2
	// writeNumber is the annotation with the number of a write.
	writeNumber = "write"
)

// TestWatcherThatNeverReads: a client that watches and does not read occupies a few megabytes, and
// loses its watch. The others get every event, in order.
func TestWatcherThatNeverReads(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	website := framework.MustCreate(t, framework.NewWebsite(namespace, "busy", framework.WithReplicas(0)))
	stalled := stalledWatch(t, namespace, website.ResourceVersion)
	var readers sync.WaitGroup
	defer readers.Wait()
	for i := range 9 {
		reader := followWatch(t, namespace, website.ResourceVersion)
		readers.Go(func() {
			if err := readAll(reader); err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	padding := strings.Repeat("x", writeSize)
	for i := 1; i <= writeCount; i++ {
		patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: "%d", "padding": %q}}}`, writeNumber, i, padding)
		if _, err := framework.Websites(t, namespace).Patch(t.Context(), website.Name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	readers.Wait()
	held, last, err := readStalled(stalled)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the watch that was not read held %d bytes, up to write %d", held, last)
	if held > maxHeld {
		t.Errorf("a watch that was not read held %d bytes of %d, want at most %d", held, writeCount*writeSize, maxHeld)
	}
}

// stalledWatch starts a watch without reading from it.
func stalledWatch(t *testing.T, namespace, resourceVersion string) io.Reader {
	t.Helper()
	response := send(t, http.MethodGet, websitesPath("v1beta1", namespace, "?watch=true&resourceVersion="+resourceVersion),
		"")
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the watch is answered with %s", response.Status)
	}
	return response.Body
}

// followWatch starts a watch that is resumed when the server ends it, as by informers.
func followWatch(t *testing.T, namespace, resourceVersion string) watch.Interface {
	t.Helper()
	websites := &cache.ListWatch{WatchFuncWithContext: framework.Websites(t, namespace).Watch}
	watcher, err := watchtools.NewRetryWatcherWithContext(t.Context(), resourceVersion, websites)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Stop)
	return watcher
}

// readAll reads until the last write, and returns an error if one is missing or out of order.
func readAll(watcher watch.Interface) error {
	last := 0
	for event := range watcher.ResultChan() {
		website, ok := event.Object.(*v1beta1.Website)
		if !ok {
			return fmt.Errorf("after write %d: event %s with %v", last, event.Type, event.Object)
		}
		next, err := following(last, website)
		if err != nil {
			return err
		}
		if last = next; last == writeCount {
			return nil
		}
	}
	return fmt.Errorf("the watch ended after write %d of %d", last, writeCount)
}

// following returns the number of the write in an event: the last one, if another field has
// changed, or the next.
func following(last int, website *v1beta1.Website) (int, error) {
	number, _ := strconv.Atoi(website.Annotations[writeNumber])
	if number != last && number != last+1 {
		return 0, fmt.Errorf("write %d came after write %d", number, last)
	}
	return number, nil
}

// readStalled reads the buffered events of a watch until its end. It returns their size, and the
// last write among them.
func readStalled(stalled io.Reader) (held, last int, err error) {
	lines := bufio.NewReader(stalled)
	for {
		line, err := lines.ReadBytes('\n')
		held += len(line)
		if errors.Is(err, io.EOF) {
			return held, last, nil // The last event may be truncated.
		}
		if err != nil {
			return held, last, fmt.Errorf("reading the watch after write %d: %w", last, err)
		}
		var event struct{ Object v1beta1.Website }
		if err := json.Unmarshal(line, &event); err != nil {
			return held, last, fmt.Errorf("decoding the event after write %d: %w", last, err)
		}
		if last, err = following(last, &event.Object); err != nil {
			return held, last, err
		}
		if last == writeCount {
			return held, last, nil
		}
	}
}
