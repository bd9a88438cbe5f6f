package agent

import (
	"context"

	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
)

// syncing is the last request to fetch at once. The lock of the agent guards it.
type syncing struct {
	// id identifies the request that is worked on, or is empty.
	id string
	// begun is true once no fetch is running that began before: mark is of that moment.
	begun bool
	mark  gitsync.Mark
	// signalled is true once git-sync was signalled.
	signalled bool
}

// requestSync takes in a request to fetch at once, unless it has been answered already.
func (a *Agent) requestSync(ctx context.Context, id string) {
	a.mu.Lock()
	isNew := id != a.syncing.id && id != a.status.Synced
	if isNew {
		a.syncing = syncing{id: id}
	}
	a.mu.Unlock()
	if isNew {
		a.advanceSync(ctx)
		a.wakeUp()
	}
}

// advanceSync does what there is to do now for a request to fetch at once: it has git-sync
// fetch as soon as that may, and then waits until nothing of it is left to publish. A fetch
// that runs already may have begun before the push that the request is about.
func (a *Agent) advanceSync(ctx context.Context) {
	logger := klog.FromContext(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	current := &a.syncing
	if current.id == "" {
		return
	}
	if a.GitSync.Asleep() {
		// It follows a commit, which it has.
		a.answerSync()
		return
	}
	if !current.begun {
		mark, idle, err := a.GitSync.Mark()
		if err != nil {
			logger.Error(err, "Failed to find out whether git-sync fetches")
		}
		if err != nil || !idle || !a.syncs.AllowN(a.Clock.Now(), 1) {
			return
		}
		current.begun, current.mark = true, mark
		a.retries = true
	}
	if !current.signalled {
		signalled, err := a.GitSync.SyncNow()
		if err != nil {
			logger.Error(err, "Failed to have git-sync sync at once")
		}
		current.signalled = signalled
	}
}

// endSync answers a request to fetch at once when a fetch that began later has ended, and the
// commit that it has brought is served, or will not be. newest is the commit that git-sync
// has, and settled true if that has been dealt with.
func (a *Agent) endSync(ctx context.Context, newest string, settled bool) {
	a.mu.Lock()
	current := a.syncing
	a.mu.Unlock()
	if current.id == "" || !current.begun {
		return
	}
	fetched, failed := a.GitSync.Since(current.mark)
	if !failed && (!fetched || !settled || !a.isOf(ctx, newest)) {
		return
	}
	// Why it has failed, or that it does not any more, is to be known together with the answer.
	a.readFailure(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.syncing.id == current.id {
		a.answerSync()
	}
}

// answerSync notes that a request to fetch has been answered. The caller holds the lock.
func (a *Agent) answerSync() {
	a.status.Synced, a.syncing = a.syncing.id, syncing{}
	a.changed()
}

// isOf reports whether a commit is that of the hash that was fetched last. The link to it is
// made some time after the fetch.
func (a *Agent) isOf(ctx context.Context, commit string) bool {
	hash, _ := a.GitSync.Fetched()
	if hash == "" || hash == commit {
		return hash != ""
	}
	if hash != a.peeled.hash {
		peeled, err := a.GitSync.CommitOf(ctx, hash)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Failed to find the commit of what was fetched")
			return false
		}
		a.peeled.hash, a.peeled.commit = hash, peeled
	}
	return a.peeled.commit == commit
}

// isHurried reports whether something is awaited that is done within milliseconds.
func (a *Agent) isHurried() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.syncing.id != "" && a.syncing.begun
}
