package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// system simulates a machine by a PATH of its own.
type system struct {
	t   *testing.T
	dir string
}

// newSystem returns a system with some programs, independent of this machine.
func newSystem(t *testing.T, programs ...string) system {
	t.Helper()
	s := system{t, t.TempDir()}
	for _, program := range programs {
		s.add(program, "")
	}
	t.Setenv("PATH", s.dir)
	return s
}

// add adds a program.
func (s system) add(name, script string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// debian adds an apt-get that records its arguments, and then runs a script.
func (s system) debian(does string) {
	s.t.Helper()
	// Apt runs it by env, which every system has.
	s.add("env", `exec /usr/bin/env "$@"`)
	s.add("apt-get", fmt.Sprintf("cd %s; echo \"$@\" >> asked\n%s\n", s.dir, does))
}

// calls returns the recorded calls of apt-get.
func (s system) calls() string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "asked"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(data)
}

func TestEnsurePrograms(t *testing.T) {
	if _, err := exec.LookPath("/usr/bin/env"); err != nil {
		t.Skipf("no env where scripts look for it: %v", err)
	}
	const (
		installs  = `for p in runc nft mount; do [ -e $p ] || { echo '#!/bin/sh' > $p; chmod +x $p; }; done`
		nowUpdate = `case "$*" in *" update"*) : > updated;; *) [ -e updated ] || exit 100; ` + installs + `;; esac`
	)
	all := []string{"runc", "nft", "mount"}
	for name, test := range map[string]struct {
		has []string
		// apt is the script of apt-get; without it, there is no apt-get.
		apt       string
		wantSaid  []string
		wantAsked int
		wantError []string
	}{
		"has all":        {has: all, apt: installs},
		"has all, alike": {has: all},
		"has none, alike": {wantError: []string{"runc (Debian package runc)", "nft (Debian package nftables)",
			"mount (Debian package mount)", "install them"}},
		"lacks one, alike": {
			has:       []string{"runc", "mount"},
			wantError: []string{"nft (Debian package nftables), for kube-proxy"},
		},
		"has none, Debian": {apt: installs, wantSaid: []string{"runc nftables mount"}, wantAsked: 1},
		"lacks one, Debian": {has: []string{"runc", "mount"}, apt: installs,
			wantSaid: []string{"nftables"}, wantAsked: 1},
		"Debian with old lists": {apt: nowUpdate, wantSaid: []string{"runc nftables mount"}, wantAsked: 3},
		"Debian without its packages": {has: []string{"nft", "mount"}, apt: "echo 'Unable to locate' >&2; exit 100",
			wantSaid: []string{"runc"}, wantAsked: 2, wantError: []string{"runc (Debian package runc)", "Unable to locate"}},
		"Debian that installs nothing": {has: []string{"nft", "mount"}, apt: "true", wantSaid: []string{"runc"}, wantAsked: 1,
			wantError: []string{"runc (Debian package runc)"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSystem(t, test.has...)
			if test.apt != "" {
				s.debian("PATH=/usr/bin:/bin\n" + test.apt)
			}
			var said []string
			err := EnsurePrograms(t.Context(), func(packages string) { said = append(said, packages) })
			if !slices.Equal(said, test.wantSaid) {
				t.Errorf("it says that it installs %q, want %q", said, test.wantSaid)
			}
			if asked := s.calls(); strings.Count(asked, "\n") != test.wantAsked || test.wantAsked > 0 &&
				!strings.Contains(asked, " install "+test.wantSaid[0]) {
				t.Errorf("apt-get is asked %q, want %d calls that install %q", asked, test.wantAsked, test.wantSaid)
			}
			if len(test.wantError) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			for _, want := range test.wantError {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q in it", err, want)
				}
			}
			if err != nil && len(test.has) > 0 && strings.Contains(err.Error(), "mount") {
				t.Errorf("error %v names an installed program", err)
			}
		})
	}
}
