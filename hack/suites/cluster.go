package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	stopTimeout = 10 * time.Minute
	// Each suite has portsPerSuite consecutive ports, the first one from firstPort on. A cluster takes
	// clusterPorts of them.
	firstPort, portsPerSuite, clusterPorts = 20000, 120, 12
)

// startCluster starts the development cluster of a suite. The directory is for stopCluster, also
// after an error.
func (r *runner) startCluster(ctx context.Context, p plan, log io.Writer) (dir string, err error) {
	if err := os.RemoveAll(r.clusterLogs(p.name)); err != nil {
		return "", fmt.Errorf("removing the logs of the previous cluster: %w", err)
	}
	build := r.command(ctx, ".", "hack/go-build.sh", "bin/devcluster", "hack/devcluster", "./cmd")
	build.Stdout, build.Stderr = log, log
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("building bin/devcluster: %w; its output is in %s", err, logFile(p.name))
	}
	base, err := freePorts(p.firstPort)
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "website-suite-"); err != nil {
		return "", fmt.Errorf("creating the cluster's directory: %w", err)
	}
	flags := append([]string{"up", "--dir=" + dir, "--base-port=" + strconv.Itoa(base)}, p.cluster...)
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

// freePorts returns the first of the ports of a cluster, which no other program listens on.
func freePorts(first int) (int, error) {
	for base := first; base+clusterPorts <= first+portsPerSuite; base += clusterPorts {
		if allFree(base) {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no %d consecutive ports are free between %d and %d", clusterPorts, first, first+portsPerSuite-1)
}

func allFree(base int) bool {
	for port := base; port < base+clusterPorts; port++ {
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return false
		}
		listener.Close()
	}
	return true
}
