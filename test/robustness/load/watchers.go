package load

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// watchBackoff is the pause after a failed watch.
const watchBackoff = 100 * time.Millisecond

// selection is the selection of a watcher.
type selection struct {
	tier string
	// byField selects by a field instead of the label.
	byField bool
	// relists makes each watch start with initial events.
	relists bool
}

// watcher watches, and resumes after the end of a watch.
type watcher struct {
	*client
	selection
	// duration is the duration of a watch. Servers send a bookmark before its end.
	duration time.Duration

	mu sync.Mutex
	// position is the revision up to which all events were received; 0 if the next watch must begin
	// with the initial events.
	position int64
	moved    chan struct{}
}

func (l *Load) startWatchers(target string) error {
	selections := []selection{{}, {tier: tiers[0]}, {tier: tiers[1], byField: true}, {relists: true}}
	if target != history.Balanced {
		selections = selections[:1]
	}
	for _, s := range selections {
		c, err := l.newClient(target)
		if err != nil {
			return err
		}
		w := &watcher{client: c, selection: s, duration: l.options.WatchTime, moved: make(chan struct{})}
		l.watchers = append(l.watchers, w)
		l.watching.Go(func() { w.run(l.watchTimes) })
	}
	return nil
}

func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		if w.watch(ctx) {
			continue
		}
		select {
		case <-time.After(watchBackoff):
		case <-ctx.Done():
		}
	}
}

// watch watches once, and reports whether the watch ended normally.
func (w *watcher) watch(parent context.Context) bool {
	from := w.at()
	options := metav1.ListOptions{AllowWatchBookmarks: true, TimeoutSeconds: ptr.To(int64(w.duration.Seconds()))}
	if from == 0 || w.relists {
		from = 0
		options.SendInitialEvents, options.ResourceVersionMatch = ptr.To(true), metav1.ResourceVersionMatchNotOlderThan
	} else {
		options.ResourceVersion = strconv.FormatInt(from, 10)
	}
	switch {
	case w.byField:
		options.FieldSelector = "spec.source.git.repository=" + repositoryOf(w.tier)
	case w.tier != "":
		options.LabelSelector = tierLabel + "=" + w.tier
	}
	record := history.Watch{ID: w.recorder.NextID(), Client: w.id, Target: w.target, From: from, Initial: from == 0,
		Tier: w.tier, Call: w.recorder.Now()}
	defer func() { w.recorder.Watch(record) }()
	// The server ends the watch. The timeout is for unreachable servers.
	ctx, cancel := context.WithTimeout(parent, 3*w.duration)
	defer cancel()
	stream, err := w.websites.Watch(ctx, options)
	if err != nil {
		if parent.Err() == nil {
			record.Error = err.Error()
		}
		w.forgetIfExpired(err)
		return false
	}
	defer stream.Stop()
	complete := !record.Initial
	for event := range stream.ResultChan() {
		if event.Type == watch.Error {
			err := apierrors.FromObject(event.Object)
			record.Error = err.Error()
			w.forgetIfExpired(err)
			return false
		}
		website, ok := event.Object.(*v1beta1.Website)
		if !ok {
			record.Error = fmt.Sprintf("an event with a %T", event.Object)
			return false
		}
		e := history.Event{Type: history.EventType(event.Type), Object: observed(website), At: w.recorder.Now()}
		if event.Type == watch.Bookmark {
			e.EndOfInitial = website.Annotations[metav1.InitialEventsAnnotationKey] == "true"
			complete = complete || e.EndOfInitial
		}
		record.Events = append(record.Events, e)
		if complete {
			w.move(e.Object.Revision)
		}
	}
	return len(record.Events) > 0
}

// forgetIfExpired starts over with the initial events if the server no longer has the changes since
// the position.
func (w *watcher) forgetIfExpired(err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		w.move(0)
	}
}

func (w *watcher) at() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.position
}

func (w *watcher) move(revision int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.position = revision
	close(w.moved)
	w.moved = make(chan struct{})
}

// waitFor waits until the watcher has received all events up to a revision.
func (w *watcher) waitFor(ctx context.Context, revision int64) error {
	for {
		w.mu.Lock()
		position, moved := w.position, w.moved
		w.mu.Unlock()
		if position >= revision {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("the watcher of tier %q at %s (client %d) has seen nothing after revision %d, and should "+
				"have seen %d", w.tier, w.target, w.id, position, revision)
		}
	}
}
