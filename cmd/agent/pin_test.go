package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// prepares waits until the release of the last commit is prepared.
func (p *pod) prepares(commit string) (status agent.Status) {
	p.t.Helper()
	eventually(p.t, "the last commit is prepared", func() bool {
		var err error
		status, err = p.status()
		return err == nil && status.Newest == commit && slices.Contains(status.Releases, commit)
	})
	return status
}

// TestPin: a pinned commit on the disk is served at once, in spite of later pushes, and so is the last one after
// unpinning. A restart changes nothing.
func TestPin(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	one := r.push("one")
	p := startPod(t, r)
	p.shows("one")
	r.push("two")
	p.shows("two")
	begin := time.Now()
	status := p.pin(one, 2)
	if status.Commit != one || status.Pin == nil || status.Pin.Commit != one || status.Pin.Generation != 2 {
		t.Errorf("the status is %+v", status)
	}
	t.Logf("serving a commit of before took %v", time.Since(begin))
	p.showsNow("one")
	if status := p.prepares(r.push("three")); status.Commit != one {
		t.Errorf("the status is %+v", status)
	}
	p.kill()
	p.start()
	p.prepares(r.push("four"))
	p.showsNow("one")
	// An older request, or file, has no effect.
	p.pin("", 1)
	p.givePin(requests.Pin{Generation: 1})
	p.prepares(r.push("five"))
	p.showsNow("one")
	begin = time.Now()
	if status := p.pin("", 3); status.Commit != status.Newest {
		t.Errorf("the status is %+v", status)
	}
	t.Logf("serving the last commit took %v", time.Since(begin))
	p.showsNow("five")
	r.push("six")
	p.shows("six")
}

// TestPinnedStart: a new pod serves the commit in its file, which is not the last one, and never
// another one.
func TestPinnedStart(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	one := r.push("one")
	two := r.push("two")
	p := newPod(t, r)
	p.givePin(requests.Pin{Commit: one, Generation: 5})
	p.start()
	eventually(t, "a page is served", func() bool { _, err := p.page(); return err == nil })
	p.showsNow("one")
	if status := p.prepares(two); status.Commit != one || status.Subject != "one" || status.Failure != nil {
		t.Errorf("the status is %+v", status)
	}
	// The pinned release is kept after any number of later ones.
	for i := range 7 {
		if status := p.prepares(r.push(fmt.Sprint("more ", i))); status.Commit != one {
			t.Errorf("the status is %+v", status)
		}
	}
	eventually(t, "others are removed", func() bool {
		status, err := p.status()
		return err == nil && len(status.Releases) == 2
	})
	p.showsNow("one")
	p.givePin(requests.Pin{Generation: 6})
	p.shows("more 6")
	// A restored store has an earlier generation.
	p.givePin(requests.Pin{Commit: two, Generation: 2})
	p.shows("two")
}

// TestPinFails: a commit that the server does not send is reported, and the current one
// stays online.
func TestPinFails(t *testing.T) {
	t.Parallel()
	for name, isOld := range map[string]bool{"an unknown commit": false, "a refusing server": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			wanted := r.push("one")
			if isOld {
				r.set(oldProtocol)
			} else {
				wanted = strings.Repeat("d", 40)
			}
			r.push("two")
			p := startPod(t, r)
			p.shows("two")
			status := p.pin(wanted, 1)
			if status.Pin == nil || status.Pin.Failure == nil || status.Pin.Failure.Reason != git.ReasonCommitRefused ||
				reasonOf(status) != git.ReasonCommitRefused {
				t.Errorf("the status is %+v", status)
			}
			p.showsNow("two")
			p.prepares(r.push("three"))
			p.showsNow("two")
			if status := p.pin("", 2); status.Pin == nil || status.Pin.Failure != nil || status.Failure != nil {
				t.Errorf("the status is %+v", status)
			}
			p.shows("three")
		})
	}
}
