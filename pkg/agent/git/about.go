package git

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// minMajor and minMinor are the oldest version of git that is known to do all that is needed.
const minMajor, minMinor = 2, 39

// Check returns an error that names a missing requirement of the repository: git, its version, or ssh.
func (r *Repository) Check(ctx context.Context) error {
	needed := []string{"sh", "git"}
	if r.protocols == "ssh" {
		needed = append(needed, "ssh")
	}
	for _, program := range needed {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("the image has no %s: use one with a shell, git %d.%d or later, and ssh: %w", program,
				minMajor, minMinor, err)
		}
	}
	output, err := exec.CommandContext(ctx, "git", "version").Output()
	if err != nil {
		return fmt.Errorf("finding the version of git: %w", err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(output), "git version %d.%d", &major, &minor); err != nil {
		return fmt.Errorf("finding the version of git in %q: %w", strings.TrimSpace(string(output)), err)
	}
	if major < minMajor || major == minMajor && minor < minMinor {
		return fmt.Errorf("the image has git %d.%d: use one with git %d.%d or later", major, minor, minMajor, minMinor)
	}
	return nil
}

// Message returns the name of the author of a commit, and the first line of its message, both followed by spaces.
// Every committer can write anything there.
func (r *Repository) Message(ctx context.Context, tree *Tree) (author, subject string, err error) {
	ctx, end, err := r.begin(ctx)
	if err != nil {
		return "", "", err
	}
	defer end()
	output, err := r.run(ctx, command{args: []string{
		"log", "-1", "--no-show-signature", "--no-color", "--encoding=UTF-8",
		"--format=%<(1000,trunc)%an%x00%<(1000,trunc)%s", tree.Commit, "--",
	}})
	author, subject, _ = strings.Cut(output, "\x00")
	return author, subject, err
}
