package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

const stopTimeout = 10 * time.Minute

// startCluster starts the development cluster of a suite. It returns the directory for
// stopCluster also after an error.
func (r *runner) startCluster(ctx context.Context, p plan, log io.Writer) (dir string, err error) {
	if err := os.RemoveAll(r.clusterLogs(p.name)); err != nil {
		return "", fmt.Errorf("removing the logs of the previous cluster: %w", err)
	}
	build := r.command(ctx, ".", "hack/go-build.sh", "bin/devcluster", "hack/devcluster", "./cmd")
	build.Stdout, build.Stderr = log, log
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("building bin/devcluster: %w; its output is in %s", err, logFile(p.name))
	}
	if dir, err = os.MkdirTemp("", "website-suite-"); err != nil {
		return "", fmt.Errorf("creating the cluster's directory: %w", err)
	}
	flags := append([]string{"up", "--dir=" + dir, "--free-ports"}, p.cluster...)
	up := r.command(ctx, ".", "bin/devcluster", flags...)
	up.Stdout, up.Stderr = log, log
	if err := up.Run(); err != nil {
		return dir, fmt.Errorf("starting the development cluster: %w; its output is in %s", err, logFile(p.name))
	}
	return dir, nil
}

// stopCluster stops the cluster, also after an interrupt. After a failure, it keeps the logs of the components.
func (r *runner) stopCluster(ctx context.Context, suite, dir string, failed bool, log io.Writer) error {
	if dir == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if failed {
		if err := os.CopyFS(r.clusterLogs(suite), os.DirFS(filepath.Join(dir, "logs"))); err != nil {
			fmt.Fprintf(log, "keeping the components' logs: %v\n", err)
		}
	}
	down := r.command(ctx, ".", "bin/devcluster", "down", "--dir="+dir)
	down.Stdout, down.Stderr = log, log
	if err := down.Run(); err != nil {
		return fmt.Errorf("stopping the development cluster in %s: %w; its output is in %s", dir, err, logFile(suite))
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the cluster's directory: %w", err)
	}
	return nil
}

func (r *runner) clusterLogs(suite string) string {
	return filepath.Join(r.root, "_artifacts", "test", suite+"-cluster")
}
