package framework

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	typed "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
)

// StartWatch watches until the test ends.
func StartWatch(t *testing.T, websites typed.WebsiteInterface, options metav1.ListOptions) watch.Interface {
	t.Helper()
	watcher, err := websites.Watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Stop)
	return watcher
}

// NextEvent returns the next event that is not a change. The controller makes changes at any time.
func NextEvent(t *testing.T, watcher watch.Interface) watch.Event {
	t.Helper()
	timeout := time.After(WaitTimeout)
	for {
		select {
		case event, open := <-watcher.ResultChan():
			if !open {
				t.Fatal("the watch has ended")
			}
			if event.Type != watch.Modified {
				return event
			}
		case <-timeout:
			t.Fatal("no event")
		}
	}
}
