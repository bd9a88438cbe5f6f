package devcluster

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/kubesites/website-apiserver/hack/devcluster/image"
)

func TestFindRepo(t *testing.T) {
	repo := t.TempDir()
	deep := filepath.Join(repo, "test", "integration")
	for _, dir := range []string{deep, filepath.Join(repo, kubernetesModule)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeTestFile(t, filepath.Join(repo, "go.mod"), "module m\n")
	writeTestFile(t, filepath.Join(repo, kubernetesModule, "go.mod"), "module k\n")
	for _, from := range []string{repo, deep, filepath.Join(repo, kubernetesModule)} {
		if got, err := findRepo(from); err != nil || got != repo {
			t.Errorf("findRepo(%s) = %q, %v, want %s", from, got, err, repo)
		}
	}
	if _, err := findRepo(t.TempDir()); err == nil {
		t.Error("found a checkout where there is none")
	}
}

func TestOptionsComplete(t *testing.T) {
	repo := testRepo(t)
	t.Run("detached", func(t *testing.T) {
		o, temporary, err := Options{RepoDir: repo, Detached: true}.complete()
		if err != nil || temporary || o.Dir != filepath.Join(repo, DefaultDir) {
			t.Errorf("complete = %+v, %t, %v", o, temporary, err)
		}
	})
	t.Run("test", func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		o, temporary, err := Options{RepoDir: repo}.complete()
		if err != nil || !temporary || o.Node != NodeAuto || o.Progress == nil {
			t.Errorf("complete = %+v, %t, %v", o, temporary, err)
		}
	})
	for name, bad := range map[string]Options{
		"node mode":                          {Node: "imaginary"},
		"image source":                       {Images: "imaginary"},
		"installed, etcd beside the cluster": {ExternalEtcd: true},
		"simulated nodes, nothing on them":   {Node: NodeSimulated, WithoutProduct: true},
		"simulated nodes, a Gateway":         {Node: NodeSimulated, Gateway: true},
	} {
		bad.RepoDir, bad.Dir = repo, t.TempDir()
		if _, _, err := bad.complete(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestImageArchives(t *testing.T) {
	repo, dir := testRepo(t), t.TempDir()
	t.Chdir(dir)
	var archive bytes.Buffer
	layer := image.NewLayer()
	layer.AddFile("git-sync", 0o755, []byte("program"))
	if err := image.Write(&archive, "example.com/git-sync:1", v1.Config{}, layer); err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, "git-sync.tar", archive.String())
	writeTestFile(t, "text", "no archive")
	o, _, err := Options{RepoDir: repo, Dir: dir, GitSyncImageArchive: "git-sync.tar"}.complete()
	if err != nil || o.GitSyncImageArchive != filepath.Join(dir, "git-sync.tar") || o.NginxImageArchive != "" {
		t.Errorf("complete = %+v, %v", o, err)
	}
	for name, test := range map[string]struct {
		options Options
		want    []string
	}{
		"missing": {Options{GitSyncImageArchive: "missing.tar"},
			[]string{"--git-sync-image-archive", "missing.tar", "no such file"}},
		"directory": {Options{NginxImageArchive: dir}, []string{"--nginx-image-archive", "is not a file"}},
		"text": {Options{NginxImageArchive: "text"},
			[]string{"--nginx-image-archive", "text is not an archive of an image"}},
		"simulated nodes": {Options{Node: NodeSimulated, NginxImageArchive: "git-sync.tar"},
			[]string{"--nginx-image-archive", "real node"}},
	} {
		test.options.RepoDir, test.options.Dir = repo, dir
		_, _, err := test.options.complete()
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error is %v, want %q in it", name, err, want)
			}
		}
	}
}

// TestArchivesOfImages: a given image has another archive than a built one.
func TestArchivesOfImages(t *testing.T) {
	p := &plan{options: Options{CacheDir: t.TempDir()}}
	names := map[string]bool{}
	for _, content := range []string{"", "one", "two"} {
		r := recipe{name: gitSyncImage}
		if content != "" {
			r.given = filepath.Join(t.TempDir(), "git-sync.tar")
			writeTestFile(t, r.given, content)
		}
		archive, err := r.archive(p)
		if err != nil || names[archive] {
			t.Errorf("with %q the archive is %s, %v", content, archive, err)
		}
		names[archive] = true
	}
}

func TestFailedChecks(t *testing.T) {
	tests := map[string]string{
		"[+]ping ok\n[-]etcd failed: reason withheld\n[+]log ok\nreadyz check failed\n": "[-]etcd failed: reason withheld",
		"shutting down\n": "shutting down",
	}
	for body, want := range tests {
		if got := failedChecks(body); got != want {
			t.Errorf("failedChecks(%q) = %q, want %q", body, got, want)
		}
	}
}

func TestLogTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var content strings.Builder
	for range 20000 {
		content.WriteString("early line\n")
	}
	content.WriteString(strings.Repeat("x", 10*tailLineLength) + "\nlast line\n\n")
	writeTestFile(t, path, content.String())
	tail := logTail(path, 0)
	if len(tail) != tailLines || tail[len(tail)-1] != "last line" || tail[0] != "early line" {
		t.Errorf("logTail = %q", tail)
	}
	if long := tail[len(tail)-2]; len(long) != tailLineLength+len("...") {
		t.Errorf("a long line takes %d characters", len(long))
	}
	if tail := logTail(path, int64(content.Len())); tail != nil {
		t.Errorf("logTail after the end = %q", tail)
	}
}
