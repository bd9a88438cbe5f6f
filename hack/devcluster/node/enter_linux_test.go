package node

import (
	"os"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFirstThreadIsNotForTheNode makes goroutines lock threads as Enter's callers do,
// more at once than the process has, so that one of them would get its first thread.
func TestFirstThreadIsNotForTheNode(t *testing.T) {
	const count = 100
	threads := make(chan int, count)
	var all, taken sync.WaitGroup
	taken.Add(count)
	for range count {
		all.Go(func() {
			runtime.LockOSThread()
			threads <- unix.Gettid()
			taken.Done()
			taken.Wait()
		})
	}
	all.Wait()
	close(threads)
	for thread := range threads {
		if thread == os.Getpid() {
			t.Error("a goroutine has got the first thread of the process")
		}
	}
}
