package access

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	testUser     = "reader"
	testPassword = "pass-of-a-test"
)

// mounted is a Secret as the kubelet mounts it: the keys are links to a directory that a link
// names, which is flipped.
type mounted struct {
	t       *testing.T
	dir     string
	version int
}

func mount(t *testing.T, keys map[string]string) *mounted {
	t.Helper()
	m := &mounted{t: t, dir: t.TempDir()}
	m.set(keys)
	return m
}

// set replaces the keys in one step.
func (m *mounted) set(keys map[string]string) {
	m.t.Helper()
	m.version++
	version := "..version_" + string(rune('0'+m.version))
	if err := os.Mkdir(filepath.Join(m.dir, version), 0o755); err != nil {
		m.t.Fatal(err)
	}
	for key, content := range keys {
		if err := os.WriteFile(filepath.Join(m.dir, version, key), []byte(content), 0o400); err != nil {
			m.t.Fatal(err)
		}
	}
	link := filepath.Join(m.dir, "..data_tmp")
	if err := os.Symlink(version, link); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(link, filepath.Join(m.dir, dataLink)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mounted) keeper() *Keeper {
	return &Keeper{SecretDir: m.dir, File: filepath.Join(m.t.TempDir(), "users")}
}

// file returns the content of the file that nginx reads.
func (k *Keeper) file(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(k.File)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func basic(username, password string) map[string]string {
	return map[string]string{UsernameKey: username, PasswordKey: password}
}

// want checks the Secret once, and compares the problem and whether the site has users.
func (k *Keeper) want(t *testing.T, when string, want Problem) {
	t.Helper()
	problem, err := k.Check()
	if problem != want {
		t.Errorf("%s: the problem is %q (%v), want %q", when, problem, err, want)
	}
	if isOpen := k.file(t) != ""; isOpen != (want == ProblemNone) {
		t.Errorf("%s: the file is %q", when, k.file(t))
	}
}

// TestRotation: each version of the Secret takes the place of the one before, and one that
// cannot be used admits no user.
func TestRotation(t *testing.T) {
	m := mount(t, basic(testUser, testPassword))
	k := m.keeper()
	k.want(t, "first", ProblemNone)
	first := k.file(t)
	if !strings.HasPrefix(first, testUser+":{SSHA}") || strings.Contains(first, testPassword) {
		t.Errorf("the file is %q, want a salted hash", first)
	}
	k.want(t, "unchanged", ProblemNone)
	if k.file(t) != first {
		t.Error("the file was made again of the same Secret")
	}
	m.set(basic(testUser, "other"))
	k.want(t, "another password", ProblemNone)
	if k.file(t) == first {
		t.Error("another password has not changed the file")
	}
	m.set(basic(testUser, ""))
	k.want(t, "no password", ProblemInvalid)
	k.want(t, "still none", ProblemInvalid)
	m.set(map[string]string{HtpasswdKey: "a:{SHA}" + strings.Repeat("A", 27) + "=\n"})
	k.want(t, "htpasswd", ProblemNone)
	m.set(nil)
	k.want(t, "deleted", ProblemMissing)
	m.set(basic(testUser, testPassword))
	k.want(t, "there again", ProblemNone)
	if k.file(t) == first {
		t.Error("the same password has the same salt again")
	}
}

// TestRestart: the file of an earlier agent does not outlive the Secret.
func TestRestart(t *testing.T) {
	m := mount(t, nil)
	k := m.keeper()
	if err := os.WriteFile(k.File, []byte("reader:{SSHA}x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.want(t, "no Secret any more", ProblemMissing)
}

// TestMountWithoutSecret: the kubelet mounts an empty directory.
func TestMountWithoutSecret(t *testing.T) {
	k := &Keeper{SecretDir: t.TempDir(), File: filepath.Join(t.TempDir(), "users")}
	k.want(t, "empty directory", ProblemMissing)
	k.SecretDir = filepath.Join(k.SecretDir, "gone")
	k.want(t, "no directory", ProblemMissing)
}

// TestUnreadable: a Secret that cannot be read admits no user, and is read again.
func TestUnreadable(t *testing.T) {
	m := mount(t, basic(testUser, testPassword))
	k := m.keeper()
	k.want(t, "first", ProblemNone)
	key := filepath.Join(m.dir, dataLink, PasswordKey)
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(key, 0o755); err != nil {
		t.Fatal(err)
	}
	k.want(t, "unreadable", ProblemInvalid)
	if _, err := k.Check(); err == nil {
		t.Error("an unreadable Secret was not read again")
	}
	m.set(basic(testUser, testPassword))
	k.want(t, "readable again", ProblemNone)
}

// TestUnwritable: if the file cannot be replaced, users that have been removed are not
// admitted.
func TestUnwritable(t *testing.T) {
	m := mount(t, basic(testUser, testPassword))
	k := m.keeper()
	k.want(t, "first", ProblemNone)
	blocked := filepath.Join(filepath.Dir(k.File), ".users")
	if err := os.Mkdir(blocked, 0o755); err != nil {
		t.Fatal(err)
	}
	m.set(basic(testUser, "other"))
	k.want(t, "unwritable", ProblemInvalid)
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	k.want(t, "writable again", ProblemNone)
}

// TestSecretsAreNotPrinted: errors are logged.
func TestSecretsAreNotPrinted(t *testing.T) {
	for name, test := range map[string]struct {
		keys map[string]string
		want Problem
	}{
		"user name": {basic("marker:marker", "password"), ProblemInvalid},
		"password":  {basic("user", "marker\x00"), ProblemInvalid},
		"no hash":   {map[string]string{HtpasswdKey: "marker:marker\n"}, ProblemUnsupportedHash},
		"no colon":  {map[string]string{HtpasswdKey: "marker\n"}, ProblemUnsupportedHash},
		"bcrypt":    {map[string]string{HtpasswdKey: "user:$2y$05$marker" + strings.Repeat("a", 47)}, ProblemUnsupportedHash},
		"twice": {map[string]string{HtpasswdKey: strings.Repeat("marker:{SHA}"+strings.Repeat("A", 27)+"=\n", 2)},
			ProblemInvalid},
		"too large": {map[string]string{HtpasswdKey: strings.Repeat("marker", maxHtpasswd)}, ProblemInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			problem, err := mount(t, test.keys).keeper().Check()
			if problem != test.want || err == nil {
				t.Fatalf("Check() = %q, %v, want %q with an error", problem, err, test.want)
			}
			if strings.Contains(err.Error(), "marker") {
				t.Errorf("the error has the content of the Secret: %v", err)
			}
		})
	}
}

// TestOneVersionIsRead: a Secret is replaced while it is read: user name and password are of one
// version.
func TestOneVersionIsRead(t *testing.T) {
	m := mount(t, basic(testUser, testPassword))
	k := m.keeper()
	k.want(t, "first", ProblemNone)
	before := k.file(t)
	// Reading a pipe lasts until it is written.
	password := filepath.Join(m.dir, dataLink, PasswordKey)
	if err := errors.Join(os.Remove(password), syscall.Mkfifo(password, 0o600)); err != nil {
		t.Fatal(err)
	}
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		k.want(t, "swapped", ProblemNone)
	}()
	pipe, err := os.OpenFile(password, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	m.set(basic("other", "other"))
	if _, err := pipe.WriteString("mixed"); err != nil {
		t.Error(err)
	}
	if err := pipe.Close(); err != nil {
		t.Error(err)
	}
	<-checked
	if k.file(t) != before {
		t.Errorf("the file is %q, want what it was", k.file(t))
	}
	k.want(t, "after that", ProblemNone)
	if !strings.HasPrefix(k.file(t), "other:") {
		t.Errorf("the file is %q, want the other user", k.file(t))
	}
}
