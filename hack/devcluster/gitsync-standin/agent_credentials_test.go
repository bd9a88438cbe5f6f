package main

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubesites/website-apiserver/hack/devcluster/gitserver"
	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
)

// overHTTP serves a remote to those who know its user and password, and returns its URL.
func (r *remote) overHTTP(user, password string) string {
	r.t.Helper()
	dir := r.t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, gitserver.PrivateArea), 0o755),
		os.Symlink(filepath.Join(r.dir, ".git"), filepath.Join(dir, gitserver.PrivateArea, "site.git"))); err != nil {
		r.t.Fatal(err)
	}
	handler, err := gitserver.NewHandler(gitserver.Options{Dir: dir, CredentialsFile: writeFile(r.t, user+":"+password)})
	if err != nil {
		r.t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	r.t.Cleanup(server.Close)
	return server.URL + "/" + gitserver.PrivateArea + "/site.git"
}

// TestUsername changes the files of a Secret below a running agent.
func TestUsername(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	url := r.overHTTP("reader", "secret")
	username, password := writeFile(t, "reader\n"), writeFile(t, "secret")
	p := startPod(t, r, "--username-file="+username, "--", "--repo="+url, "--password-file="+password)
	rotate := func(file, content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.push("one")
	p.shows("one")
	rotate(username, "nobody")
	eventually(t, "the credentials are refused", func() bool {
		status, err := p.status()
		return err == nil && status.Failure != nil && status.Failure.Reason == gitsync.ReasonAuthentication
	})
	p.push("two")
	p.shows("one")
	rotate(username, "reader")
	p.shows("two")
}

// TestFirstFetchIsRetried: a repository that is created after its Website is published long
// before the next period.
func TestFirstFetchIsRetried(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	away := r.dir + ".away"
	if err := os.Rename(r.dir, away); err != nil {
		t.Fatal(err)
	}
	p := startPod(t, r, "--period=1h", "--", "--period=1h")
	eventually(t, "the failure is in the status", func() bool {
		status, err := p.status()
		return err == nil && status.Failure != nil && status.Failure.Reason == gitsync.ReasonNotFound
	})
	if err := os.Rename(away, r.dir); err != nil {
		t.Fatal(err)
	}
	p.push("one")
	p.shows("one")
}
