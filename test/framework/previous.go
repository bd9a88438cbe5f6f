package framework

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var previous = flag.String("previous", "",
	"the commit of the previous release; the one that changed the stored form last if empty")

// storedForm defines the fields of stored Websites. Until v0.1.0 the stored form may
// change incompatibly.
const storedForm = "pkg/apis/website/v1beta1/generated.proto"

// git runs git in the checkout.
func git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = Path()
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, exit.Stderr)
		}
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// PreviousRelease returns a directory with the sources of the release before this checkout, which
// is kept together with the programs built there. It skips the test in a checkout without these
// sources. From then on, the test measures no coverage of the programs that it builds: their
// lines differ.
func PreviousRelease(t *testing.T) string {
	t.Helper()
	isCover := func(flag string) bool { return strings.HasPrefix(flag, "-cover") }
	t.Setenv("GOFLAGS", strings.Join(slices.DeleteFunc(strings.Fields(os.Getenv("GOFLAGS")), isCover), " "))
	if _, err := os.Stat(Path(".git")); err != nil {
		t.Skip("the previous release is built from the history, and this is no clone:", err)
	}
	ref := *previous
	if ref == "" {
		if git(t, "rev-parse", "--is-shallow-repository") == "true" {
			t.Skip("the previous release is built from the history, and this clone is shallow: run \"git fetch --unshallow\"")
		}
		if ref = git(t, "log", "-1", "--format=%H", "--", storedForm); ref == "" {
			t.Fatalf("no commit has changed %s", storedForm)
		}
	}
	commit := git(t, "rev-parse", "--verify", ref+"^{commit}")
	t.Logf("the previous release is %s", git(t, "log", "-1", "--format=%h %ad %s", commit))
	// The directory is kept with the programs that are built there.
	dir := Path("bin", "releases", commit)
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		extractRelease(t, commit, dir)
	}
	// The release uses the libraries and the Kubernetes of this checkout, which are compiled anyway.
	programs, err := filepath.Glob(Path("hack", "kubernetes", "*"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"go.mod", "go.sum", "hack/images/go.mod", "hack/images/go.sum", "hack/kwok/go.mod",
		"hack/kwok/go.sum"}
	for _, program := range programs {
		names = append(names, filepath.Join("hack", "kubernetes", filepath.Base(program)))
	}
	for _, name := range names {
		content, err := os.ReadFile(Path(name))
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, name), content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// extractRelease writes the sources of a commit into a new directory.
func extractRelease(t *testing.T, commit, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), "tmp-")
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(temporary, "archive.tar")
	git(t, "archive", "--format=tar", "--output="+archive, commit)
	if out, err := exec.CommandContext(t.Context(), "tar", "--extract", "--file="+archive, "--directory="+temporary).
		CombinedOutput(); err != nil {
		t.Fatalf("extracting the previous release: %v: %s", err, out)
	}
	if err := errors.Join(os.Remove(archive), os.Rename(temporary, dir)); err != nil {
		t.Fatal(err)
	}
}
