package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var manyPushes = flag.Int("pushes", 10, "number of pushes of 256 KiB; 2000 are the pushes of months")

// TestManyPushes: git's directory stays about as large as a fresh clone, for any number
// of pushes.
func TestManyPushes(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.push("start")
	p := startPod(t, r, "--period=10ms")
	p.shows("start")
	var took []time.Duration
	for i := range *manyPushes {
		page := fmt.Sprint("push ", i)
		r.push(page, files{"random.bin": random(256 << 10)})
		begin := time.Now()
		p.shows(page)
		took = append(took, time.Since(begin))
	}
	clone := filepath.Join(t.TempDir(), "clone")
	r.run("clone", "--quiet", "--bare", "--depth=1", "file://"+r.dir, clone)
	size := func() int64 { return usedBy(p.path("volume/repository/repository")) }
	most := 3 * usedBy(clone)
	eventually(t, "git's directory is at most three times a fresh clone", func() bool { return size() <= most })
	slices.Sort(took)
	t.Logf("%d pushes: %d kB, a third of the limit is %d kB; until a page was there: p50 %v, p99 %v, at most %v",
		len(took), size()/1000, most/3000, took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
}
