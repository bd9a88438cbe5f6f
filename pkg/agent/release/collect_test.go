package release

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/disk"
)

func TestCollect(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	s.Keep = 2
	var commits []string
	for _, content := range []string{"one", "two", "three"} {
		commit := s.publish(t, r, map[string]string{"index.html": content, "app.3f2a91bc.js": content})
		commits = append(commits, commit)
	}
	if releases, err := s.List(); err != nil || !slices.Equal(releases, []string{commits[2], commits[1]}) {
		t.Errorf("releases %q, %v, want the last two", releases, err)
	}
	if assets, err := os.ReadDir(s.path(assetsDir)); err != nil || len(assets) != 2 {
		t.Errorf("assets %v, %v, want those of two releases", assets, err)
	}
	// The current release is kept, even alone, and even over the budget.
	s.serve(t, commits[1])
	s.Budget = 1
	if err := s.Collect(""); err != nil {
		t.Fatal(err)
	}
	if releases, err := s.List(); err != nil || !slices.Equal(releases, []string{commits[1]}) ||
		s.Current() != commits[1] {
		t.Errorf("over the budget there are releases %q, %v, current %q", releases, err, s.Current())
	}
}

// TestCollectKeepsThePin: the release of a pinned commit stays, as does the current one, also over the budget.
func TestCollectKeepsThePin(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	s.Keep = 4
	var commits []string
	for _, content := range []string{"one", "two", "three", "four"} {
		commits = append(commits, s.publish(t, r, map[string]string{"index.html": content}))
	}
	for _, step := range []struct {
		name   string
		keep   int
		budget int64
		pinned string
		want   []string
	}{
		{"one more", 3, 0, commits[0], []string{commits[3], commits[0], commits[2]}},
		{"fewer than needed", 1, 0, commits[0], []string{commits[3], commits[0]}},
		{"over the budget", 3, 1, commits[0], []string{commits[3], commits[0]}},
		{"without a pin", 1, 0, "", []string{commits[3]}},
	} {
		s.Keep, s.Budget = step.keep, step.budget
		if err := s.Collect(step.pinned); err != nil {
			t.Fatal(err)
		}
		releases, err := s.List()
		slices.Sort(releases)
		slices.Sort(step.want)
		if err != nil || !slices.Equal(releases, step.want) {
			t.Errorf("%s: there are releases %q, %v, want %q", step.name, releases, err, step.want)
		}
	}
}

// TestCollectAfterTheClockWentBack: the release that was just replaced is the last to go.
func TestCollectAfterTheClockWentBack(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	s.Keep = 3
	var commits []string
	for _, content := range []string{"one", "two", "three"} {
		commit := s.publish(t, r, map[string]string{"index.html": content})
		commits = append(commits, commit)
	}
	source := r.commit(map[string]string{"index.html": "four"})
	if err := s.Make(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Switch(source.Commit, published.Add(-time.Hour)), s.Collect("")); err != nil {
		t.Fatal(err)
	}
	other := s.publish(t, r, map[string]string{"index.html": "five"})
	if releases, err := s.List(); err != nil || !slices.Equal(releases, []string{other, source.Commit, commits[2]}) {
		t.Errorf("there are releases %q, %v, want the last three of %q", releases, err, append(commits, source.Commit, other))
	}
}

func TestBudgetCountsFilesOnce(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	large := strings.Repeat("0123456789abcdef", 16<<10)
	source := r.commit(map[string]string{"large": large})
	before, err := disk.UsageOf(s.Volume)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Make(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	if after, err := disk.UsageOf(s.Volume); err != nil || after.Bytes-before.Bytes > int64(len(large))/2 {
		t.Errorf("the release takes %d bytes, %v: its files are those of the worktree", after.Bytes-before.Bytes, err)
	}
}

// TestEarlierAssets: hashed files of commits before the first release are next to each release that lacks them, until
// the volume is full.
func TestEarlierAssets(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	s.Published = "public"
	earlier := r.commit(map[string]string{"public/app.3f2a91bc.js": "1", "public/app.4f2a91bc.js": "1", "public/a.js": "1",
		".gitattributes": "", "app.5f2a91bc.js": "1"})
	if err := s.KeepEarlier(earlier.Worktree); err != nil {
		t.Fatal(err)
	}
	s.publish(t, r, map[string]string{"public/app.4f2a91bc.js": "2"})
	commit := s.publish(t, r, map[string]string{"public/app.6f2a91bc.js": "2"})
	want := map[string]string{"public/app.3f2a91bc.js": "1", "public/app.4f2a91bc.js": "2"}
	if got := files(t, s.path(assetsDir, commit)); !maps.Equal(got, want) {
		t.Errorf("%q are kept, want %q", got, want)
	}
	s.Budget = 1
	if err := s.Collect(""); err != nil {
		t.Fatal(err)
	}
	// The worktree has the other one.
	delete(want, "public/app.3f2a91bc.js")
	if got := files(t, s.path(assetsDir, commit)); !maps.Equal(got, want) {
		t.Errorf("%q are kept on a full volume, want %q", got, want)
	}
	if _, err := os.Stat(s.path(earlierDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the files of earlier commits are there: %v", err)
	}
}

// TestBudgetFreesAssets: a release that is dropped for its bytes leaves none of them to those that follow.
func TestBudgetFreesAssets(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	const size = 1 << 20
	var commits []string
	for i := range 3 {
		source := r.commit(map[string]string{fmt.Sprintf("film.%d3f2a91b.mp4", i): strings.Repeat(fmt.Sprint(i), size)})
		if err := s.Make(t.Context(), source); err != nil {
			t.Fatal(err)
		}
		s.serve(t, source.Commit)
		commits = append(commits, source.Commit)
		// The next checkout removes it.
		if err := os.RemoveAll(source.Worktree); err != nil {
			t.Fatal(err)
		}
	}
	before, err := disk.UsageOf(s.Volume)
	if err != nil {
		t.Fatal(err)
	}
	current, err := disk.UsageOf(s.Path(commits[2]))
	if err != nil {
		t.Fatal(err)
	}
	// One has to go.
	s.Budget = before.Bytes + reserved*current.Bytes - size/2
	if err := s.Collect(""); err != nil {
		t.Fatal(err)
	}
	after, err := disk.UsageOf(s.Volume)
	if err != nil {
		t.Fatal(err)
	}
	if releases, err := s.List(); err != nil || !slices.Equal(releases, []string{commits[2], commits[1]}) ||
		before.Bytes-after.Bytes < size {
		t.Errorf("there are releases %q, %v, and %d bytes less, want one release less, and its %d bytes", releases, err,
			before.Bytes-after.Bytes, size)
	}
	if got := files(t, s.path(assetsDir, commits[2])); len(got) != 1 || got["film.13f2a91b.mp4"] == "" {
		t.Errorf("%d files are kept with the current release, want that of the one before", len(got))
	}
}

// TestBudgetCountsInodes: many small files take more of a file system than their bytes.
func TestBudgetCountsInodes(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	var commits []string
	for release := range 3 {
		content := map[string]string{"index.html": "home"}
		for i := range 200 {
			content[fmt.Sprintf("page-%d.html", i)] = fmt.Sprint(release, i)
		}
		commit := s.publish(t, r, content)
		commits = append(commits, commit)
	}
	used, err := disk.UsageOf(s.Volume)
	if err != nil {
		t.Fatal(err)
	}
	// Enough for all the bytes, and for the inodes without the first release and its worktree.
	s.Budget = (used.Inodes + reserved*205 - 100) * bytesPerInode
	if used.Bytes+reserved*205*4096 > s.Budget {
		t.Fatalf("%+v are more bytes than the budget of %d", used, s.Budget)
	}
	if err := os.RemoveAll(filepath.Join(r.dir, "1")); err != nil {
		t.Fatal(err)
	}
	if err := s.Collect(""); err != nil {
		t.Fatal(err)
	}
	if releases, err := s.List(); err != nil || !slices.Equal(releases, []string{commits[2], commits[1]}) {
		t.Errorf("there are releases %q, %v, want the last two of %q", releases, err, commits)
	}
}

// TestCommitWithTooManyFiles: a commit with more files than blocks of its share of the volume is not published.
func TestCommitWithTooManyFiles(t *testing.T) {
	r := newRepository(t)
	s := newStore(t, r)
	for name, test := range map[string]struct {
		budget int64
		want   error
	}{
		"as many as there may be": {budget: 5 * bytesPerFile}, "one more": {budget: 4 * bytesPerFile, want: ErrTooLarge},
		"without a limit": {},
	} {
		t.Run(name, func(t *testing.T) {
			s.Budget = test.budget
			// With directories, and with the target of the link, there are five.
			source := r.commit(map[string]string{"index.html": name, "docs/page.html": "page", "linked": "-> docs"})
			if err := s.Make(t.Context(), source); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if s.Has(source.Commit) != (test.want == nil) {
				t.Errorf("there is a release: %t", s.Has(source.Commit))
			}
		})
	}
}
