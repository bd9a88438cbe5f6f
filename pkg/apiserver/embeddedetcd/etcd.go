// Package embeddedetcd runs an etcd server inside the process, for
// installations of a single node that have no etcd of their own to offer.
//
// It listens on a unix socket in a folder that only the server's user can
// enter, and on nothing else: neither a network port nor a certificate is
// needed to keep others away from the data.
package embeddedetcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/klog/v2"
)

const (
	// socketName is the unix socket's name in the data folder.
	socketName = "etcd.sock"
	// maxSocketPath is the longest path a unix socket can have on every
	// supported system: sun_path holds 104 bytes on macOS and 108 on Linux,
	// with a terminating zero.
	maxSocketPath = 103
	// startTimeout bounds recovery of the write-ahead log on a slow disk.
	startTimeout = 2 * time.Minute
	// memberName never leaves the process: the cluster has one member.
	memberName = "website-apiserver"
)

// Server is a running etcd.
type Server struct {
	etcd *embed.Etcd
	lock *fileutil.LockedFile
}

// folder is where etcd keeps everything, below the data folder. It is a folder
// of its own because the data folder may be a volume whose mode is not ours.
func folder(dataDir string) string {
	return filepath.Join(dataDir, "etcd")
}

// Endpoint returns the client URL of the etcd that Start runs for dataDir. It
// returns an error when the path is too long for a unix socket.
func Endpoint(dataDir string) (string, error) {
	dir, err := filepath.Abs(folder(dataDir))
	if err != nil {
		return "", fmt.Errorf("finding the absolute path of %s: %w", dataDir, err)
	}
	socket := filepath.Join(dir, socketName)
	if len(socket) > maxSocketPath {
		return "", fmt.Errorf("the socket of the embedded etcd would be %s, %d bytes long; a unix socket's path can have %d: choose a data folder with a shorter path", socket, len(socket), maxSocketPath)
	}
	return (&url.URL{Scheme: "unix", Path: socket}).String(), nil
}

// Start runs etcd with its data in dataDir, which it creates if needed, and
// returns once it serves. It returns an error when another process uses the
// folder, and when etcd does not become ready before ctx ends or two minutes
// have passed.
func Start(ctx context.Context, dataDir string) (*Server, error) {
	dir := folder(dataDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of the embedded etcd: %w", err)
	}
	// MkdirAll leaves the mode of a folder that was there before.
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("closing the folder of the embedded etcd to other users: %w", err)
	}

	// Without a lock of our own, a second process would wait in silence for
	// the database's.
	lock, err := fileutil.TryLockFile(filepath.Join(dir, "lock"), os.O_WRONLY|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("the data folder %s is in use by another process: stop it, or choose another folder", dataDir)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the data folder %s: %w", dataDir, err)
	}

	etcd, err := start(ctx, dataDir)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Server{etcd: etcd, lock: lock}, nil
}

func start(ctx context.Context, dataDir string) (*embed.Etcd, error) {
	cfg, err := configuration(dataDir)
	if err != nil {
		return nil, err
	}
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("starting the embedded etcd in %s: %w", dataDir, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case <-etcd.Server.ReadyNotify():
	case err := <-etcd.Err():
		etcd.Close()
		return nil, fmt.Errorf("starting the embedded etcd in %s: %w", dataDir, err)
	case <-ctx.Done():
		etcd.Close()
		return nil, fmt.Errorf("waiting for the embedded etcd in %s to become ready: %w", dataDir, ctx.Err())
	}
	klog.FromContext(ctx).Info("Embedded etcd is ready", "dataDir", dataDir)
	return etcd, nil
}

func configuration(dataDir string) (*embed.Config, error) {
	endpoint, err := Endpoint(dataDir)
	if err != nil {
		return nil, err
	}
	client, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("parsing the endpoint of the embedded etcd: %w", err)
	}

	cfg := embed.NewConfig()
	cfg.Name = memberName
	cfg.Dir = filepath.Join(folder(dataDir), "data")
	cfg.ListenClientUrls = []url.URL{*client}
	cfg.AdvertiseClientUrls = []url.URL{*client}
	// Nobody ever joins the only member: it needs a peer address to be a
	// member at all, but does not listen on it.
	cfg.ListenPeerUrls = nil
	cfg.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "localhost:2380"}}
	cfg.InitialCluster = cfg.InitialClusterFromName(memberName)
	cfg.EnableGRPCGateway = false
	// History is compacted by the API server, which also relies on it being
	// there until then. The log is for whoever debugs a failure.
	cfg.LogLevel = "warn"
	return cfg, nil
}

// Wait returns nil when ctx ends, and an error when etcd fails before that.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.etcd.Err():
		return fmt.Errorf("the embedded etcd has failed: %w", err)
	case <-s.etcd.Server.StopNotify():
		return errors.New("the embedded etcd has stopped")
	}
}

// Close stops etcd once all data is on disk, and frees the data folder. The
// API server must have stopped before.
func (s *Server) Close() error {
	s.etcd.Close()
	if err := s.lock.Close(); err != nil {
		return fmt.Errorf("unlocking the data folder: %w", err)
	}
	return nil
}
