// Command demo records a terminal session in the cluster of "make up" as an animated SVG: "make demo" runs it
// at the root of the checkout. The recording has the text and the times of the run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

const sync = "/apis/mycontroller.nevermosby.io/v1beta1/namespaces/default/websites/example/sync"

// commands are the session: a push, its publication and the page.
var commands = []string{
	"kubectl get websites",
	"git clone -q .devcluster/git/example.git $SITE && cd $SITE",
	"echo '<h1>Hello</h1>' > hello.html && git add . && git commit -qm 'Say hello' && git push -q",
	"kubectl create --raw " + sync + " -f - <<<{} >/dev/null",
	"kubectl wait --for=jsonpath='{.status.commit}'=$(git rev-parse HEAD) website/example --timeout=90s",
	"URL=$(kubectl get website example -o jsonpath='{.status.urls[0]}')",
	"curl -sI $URL/hello.html | grep -i -e HTTP -e website-commit",
	"kubectl get websites",
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	clusterDir := flag.String("cluster-dir", ".devcluster", "The directory of the cluster")
	out := flag.String("out", "docs/images/demo.svg", "The file to write")
	flag.Parse()
	if err := run(ctx, *clusterDir, *out); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, clusterDir, out string) (err error) {
	cluster, err := filepath.Abs(clusterDir)
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	if _, err := os.Stat(filepath.Join(cluster, "kubeconfig")); err != nil {
		return fmt.Errorf("start a cluster with a real node by make up first: %w", err)
	}
	// The session names the default directory of the cluster.
	dir, err := os.MkdirTemp("", "website-demo-")
	if err != nil {
		return fmt.Errorf("creating a directory for the session: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Symlink(cluster, filepath.Join(dir, ".devcluster")); err != nil {
		return fmt.Errorf("linking the cluster: %w", err)
	}
	session, err := record(ctx, dir, environment(cluster, dir), commands)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, []byte(render(session)), 0o644); err != nil {
		return fmt.Errorf("writing the recording: %w", err)
	}
	return nil
}

// environment has kubectl and the kubeconfig of the cluster, and an author of commits.
func environment(cluster, dir string) []string {
	return append(os.Environ(), "KUBECONFIG="+filepath.Join(cluster, "kubeconfig"), "SITE="+filepath.Join(dir, "site"),
		"PATH="+filepath.Join(cluster, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"), "GIT_AUTHOR_NAME=Ada Example",
		"GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada Example", "GIT_COMMITTER_EMAIL=ada@example.com")
}
