package devcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/kubesites/website-apiserver/hack/devcluster/gitserver"
)

// errNoGitServer is returned by methods for repositories in a cluster without a
// real node.
var errNoGitServer = errors.New("the cluster has no git server: only one with a real node does")

// GitServerURL returns the URL of the cluster's own git server for pods and this machine,
// without a slash at the end, or "" if the cluster has no real node. Repository NAME is at
// /NAME.git, without authentication; private/NAME requires GitCredentials.
func (c *Cluster) GitServerURL() string {
	if c.plan.options.Node != NodeReal {
		return ""
	}
	return "http://" + net.JoinHostPort(c.plan.settings.Node.Host(), strconv.Itoa(c.Ports().GitServer))
}

// GitRepositoryPath returns the directory of a repository, "NAME" or "private/NAME", to which
// git can push. It need not exist yet.
func (c *Cluster) GitRepositoryPath(name string) string {
	return gitserver.Path(c.plan.layout.git(), name)
}

// CreateRepository makes an empty repository unless it exists, and returns its path.
func (c *Cluster) CreateRepository(ctx context.Context, name string) (path string, err error) {
	if c.plan.options.Node != NodeReal {
		return "", errNoGitServer
	}
	return gitserver.Create(ctx, c.plan.layout.git(), name)
}

// CommitToRepository commits the content of a directory to a repository's branch "main",
// creating the repository if needed, and returns the commit. Unchanged content makes no
// new commit.
func (c *Cluster) CommitToRepository(ctx context.Context, name, directory, message string) (commit string, err error) {
	if _, err := c.CreateRepository(ctx, name); err != nil {
		return "", err
	}
	return gitserver.Commit(ctx, c.plan.layout.git(), name, directory, message)
}

// GitCredentials are the user and the password for private repositories.
func (c *Cluster) GitCredentials() (user, password string, err error) {
	if c.plan.options.Node != NodeReal {
		return "", "", errNoGitServer
	}
	data, err := os.ReadFile(c.plan.layout.gitCredentials())
	if err != nil {
		return "", "", fmt.Errorf("reading the credentials of private repositories: %w", err)
	}
	user, password, _ = strings.Cut(strings.TrimSpace(string(data)), ":")
	return user, password, nil
}
