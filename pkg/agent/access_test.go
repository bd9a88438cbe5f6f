package agent

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
)

// TestAccessIsNews: the status has the reason that keeps visitors out, and waiting requests are answered with it.
func TestAccessIsNews(t *testing.T) {
	secret := t.TempDir()
	a := newAgent(Config{
		Clock: clock.RealClock{}, Releases: &release.Store{}, ConfigDir: t.TempDir(),
		Access: &access.Keeper{SecretDir: secret, File: filepath.Join(t.TempDir(), "users")},
	})
	set := func(password string) {
		t.Helper()
		for key, value := range map[string]string{access.UsernameKey: "reader", access.PasswordKey: password} {
			if err := os.WriteFile(filepath.Join(secret, key), []byte(value), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := a.Status().Revision
	for _, step := range []struct {
		when   string
		change func()
		want   access.Problem
		isNews bool
	}{
		{"no Secret", func() {}, access.ProblemMissing, true},
		{"still none", func() {}, access.ProblemMissing, false},
		{"a Secret", func() { set("password") }, access.ProblemNone, true},
		{"another password", func() { set("other") }, access.ProblemNone, false},
		{"no password", func() { set("") }, access.ProblemInvalid, true},
	} {
		step.change()
		for _, e := range a.changes(t.Context()) {
			a.take(t.Context(), e)
		}
		status := a.Status()
		if status.Access != step.want || (status.Revision != before) != step.isNews {
			t.Errorf("%s: %q, with a new revision: %t, want %q, %t", step.when, status.Access, status.Revision != before,
				step.want, step.isNews)
		}
		before = status.Revision
	}
}
