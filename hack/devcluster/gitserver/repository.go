package gitserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/kubesites/website-apiserver/hack/devcluster/command"
)

// Branch is the branch that HEAD of a new repository names.
const Branch = "main"

// names are the repositories' names: one part, or "private/" and one part.
var names = regexp.MustCompile(`^(` + PrivateArea + `/)?[A-Za-z0-9][A-Za-z0-9_-]*$`)

// Path returns the path of a repository in dir. Names are "NAME" or "private/NAME".
func Path(dir, name string) string { return filepath.Join(dir, name+".git") }

// Create makes an empty repository unless one of that name exists, and returns its path,
// to which git can push.
func Create(ctx context.Context, dir, name string) (string, error) {
	if !names.MatchString(name) || name == PrivateArea {
		return "", fmt.Errorf("%q is not a valid repository name: use letters, digits, - and _, after %q for a private "+
			"repository", name, PrivateArea+"/")
	}
	path := Path(dir, name)
	if _, err := os.Stat(filepath.Join(path, "HEAD")); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("creating the directory of repository %s: %w", name, err)
	}
	if _, err := git(ctx, nil, "init", "--quiet", "--bare", "--template=", "--initial-branch="+Branch, path); err != nil {
		return "", fmt.Errorf("creating repository %s: %w", name, err)
	}
	// A full SHA can be fetched although it is no branch's tip, as from the large hosts.
	if _, err := git(ctx, nil, "--git-dir="+path, "config", "uploadpack.allowAnySHA1InWant", "true"); err != nil {
		return "", fmt.Errorf("configuring repository %s: %w", name, err)
	}
	return path, nil
}

// Commit commits the content of a directory to the repository's branch and returns the
// hash. Without a change, that is the hash of the existing commit.
func Commit(ctx context.Context, dir, name, content, message string) (string, error) {
	path := Path(dir, name)
	index, err := os.MkdirTemp("", "gitserver-")
	if err != nil {
		return "", fmt.Errorf("creating a directory for git's index: %w", err)
	}
	defer func() { _ = os.RemoveAll(index) }()
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(index, "index")}
	run := func(args ...string) (string, error) {
		out, err := git(ctx, env, append([]string{"--git-dir=" + path, "--work-tree=" + content}, args...)...)
		if err != nil {
			return "", fmt.Errorf("committing %s to repository %s: %w", content, name, err)
		}
		return out, nil
	}
	if _, err := run("add", "--all", "--force", "."); err != nil {
		return "", err
	}
	tree, err := run("write-tree")
	if err != nil {
		return "", err
	}
	commit := []string{"commit-tree", "-m", message, tree}
	const ref = "refs/heads/" + Branch
	if parent, err := run("rev-parse", "--verify", "--quiet", ref); err == nil {
		if old, err := run("rev-parse", parent+"^{tree}"); err == nil && old == tree {
			return parent, nil
		}
		commit = append(commit, "-p", parent)
	}
	hash, err := run(commit...)
	if err != nil {
		return "", err
	}
	_, err = run("update-ref", ref, hash)
	return hash, err
}

// git runs git independent of the user's settings and returns its output.
func git(ctx context.Context, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		"GIT_AUTHOR_NAME=devcluster", "GIT_AUTHOR_EMAIL=devcluster@localhost",
		"GIT_COMMITTER_NAME=devcluster", "GIT_COMMITTER_EMAIL=devcluster@localhost",
	}, env...)
	return command.Output(ctx, cmd)
}
