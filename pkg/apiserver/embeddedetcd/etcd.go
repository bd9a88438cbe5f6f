// Package embeddedetcd runs an etcd server inside the process, for
// single-node installations without an etcd cluster.
//
// It listens only on a unix socket, in a directory that only the server's user can
// access, so the data is protected without a network port or certificates.
package embeddedetcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"k8s.io/klog/v2"
)

const (
	// socketName is the unix socket's name in the data directory.
	socketName = "etcd.sock"
	// maxSocketPath is the longest path a unix socket can have on every
	// supported system: sun_path holds 104 bytes on macOS and 108 on Linux,
	// with a terminating zero.
	maxSocketPath = 103
	// startTimeout bounds recovery of the write-ahead log on a slow disk.
	startTimeout = 2 * time.Minute
	// memberName never leaves the process: the cluster has one member.
	memberName = "website-apiserver"
	// dataName is the directory of the database and of the write-ahead log.
	dataName = "data"
)

// peerURL is required for a member, although no client connects to it.
var peerURL = url.URL{Scheme: "http", Host: "localhost:2380"}

// Config configures the location and the size of etcd's data.
type Config struct {
	// DataDir is created if needed.
	DataDir string
	// QuotaBytes bounds the size of the database. Writes fail when it is reached.
	QuotaBytes int64
	// HistoryBytes bounds the size of superseded revisions in the database, in
	// addition to the API server's compaction by time.
	HistoryBytes int64
}

const (
	// DefaultQuotaBytes is etcd's own default.
	DefaultQuotaBytes = 2 << 30
	// DefaultHistoryBytes holds a few minutes of changes to Websites of ordinary size.
	DefaultHistoryBytes = 64 << 20
	// snapshotCount bounds the number of writes that etcd keeps in memory, and
	// that it replays from the write-ahead log on start. With objects of a
	// megabyte, etcd's default of 10,000 would take gigabytes.
	snapshotCount = 50
	// catchUpEntries is the number of entries that etcd keeps for slow followers.
	// A single member has none.
	catchUpEntries = 1
)

// Server is a running etcd.
type Server struct {
	config Config
	etcd   *embed.Etcd
	kv     etcdserverpb.KVServer
	lock   *fileutil.LockedFile
}

// etcdDir returns the directory of etcd in the data directory. It is a directory of
// its own because the data directory may be a volume whose mode cannot be set.
func etcdDir(dataDir string) string {
	return filepath.Join(dataDir, "etcd")
}

// Endpoint returns the client URL of the etcd that Start runs for dataDir. It
// returns an error when the path is too long for a unix socket.
func Endpoint(dataDir string) (string, error) {
	dir, err := filepath.Abs(etcdDir(dataDir))
	if err != nil {
		return "", fmt.Errorf("finding the absolute path of %s: %w", dataDir, err)
	}
	socket := filepath.Join(dir, socketName)
	if len(socket) > maxSocketPath {
		return "", fmt.Errorf("the socket of the embedded etcd would be %s, %d bytes long; a unix socket's path can have "+
			"%d: choose a data directory with a shorter path", socket, len(socket), maxSocketPath)
	}
	return (&url.URL{Scheme: "unix", Path: socket}).String(), nil
}

// DataDir returns the dataDir for which Endpoint has returned endpoint. It returns false
// for other endpoints.
func DataDir(endpoint string) (string, bool) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "unix" {
		return "", false
	}
	return strings.CutSuffix(u.Path, filepath.Join("/", etcdDir(""), socketName))
}

// Start runs etcd with its data in dataDir, which it creates if needed, and
// returns once it serves. It returns an error when another process uses the
// directory, and when etcd does not become ready before ctx ends or two minutes
// have passed.
func Start(ctx context.Context, config Config) (*Server, error) {
	dataDir := config.DataDir
	if err := makeDir(dataDir); err != nil {
		return nil, err
	}
	// Check the free space first: etcd exits the process when a write fails.
	if err := Writable(dataDir); err != nil {
		return nil, err
	}
	lock, err := lockDir(dataDir)
	if err != nil {
		return nil, err
	}

	etcd, err := start(ctx, config)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Server{config: config, etcd: etcd, kv: v3rpc.NewQuotaKVServer(etcd.Server), lock: lock}, nil
}

// makeDir creates the directory of etcd in dataDir, unless it exists.
func makeDir(dataDir string) error {
	if err := os.MkdirAll(etcdDir(dataDir), 0o700); err != nil {
		return fmt.Errorf("creating the directory of the embedded etcd: %w", err)
	}
	// MkdirAll does not change the mode of an existing directory.
	if err := os.Chmod(etcdDir(dataDir), 0o700); err != nil {
		return fmt.Errorf("restricting the mode of the directory of the embedded etcd: %w", err)
	}
	return nil
}

// lockDir reserves dataDir for this process. Without this lock, etcd in a second process
// would wait for the lock of the database and report no error.
func lockDir(dataDir string) (*fileutil.LockedFile, error) {
	lock, err := fileutil.TryLockFile(filepath.Join(etcdDir(dataDir), "lock"), os.O_WRONLY|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("the data directory %s is in use by another process: stop it, or choose another directory",
			dataDir)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the data directory %s: %w", dataDir, err)
	}
	return lock, nil
}

func start(ctx context.Context, config Config) (*embed.Etcd, error) {
	dataDir := config.DataDir
	cfg, err := configuration(config)
	if err != nil {
		return nil, err
	}
	if err := verify(cfg.Dir); err != nil {
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

func configuration(config Config) (*embed.Config, error) {
	dataDir := config.DataDir
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
	cfg.Dir = filepath.Join(etcdDir(dataDir), dataName)
	cfg.ListenClientUrls = []url.URL{*client}
	cfg.AdvertiseClientUrls = []url.URL{*client}
	// A member must advertise a peer URL. This one does not listen on it, because
	// there are no other members.
	cfg.ListenPeerUrls = nil
	cfg.AdvertisePeerUrls = []url.URL{peerURL}
	cfg.InitialCluster = cfg.InitialClusterFromName(memberName)
	cfg.EnableGRPCGateway = false
	// Auto-compaction stays disabled: the API server compacts the history itself,
	// and needs it until then. The log is for debugging failures.
	cfg.LogLevel = "warn"
	cfg.QuotaBackendBytes = config.QuotaBytes
	cfg.SnapshotCount = snapshotCount
	cfg.SnapshotCatchUpEntries = catchUpEntries
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

// alarms returns the alarms that are active.
func (s *Server) alarms() []etcdserverpb.AlarmType {
	var active []etcdserverpb.AlarmType
	for _, alarm := range s.etcd.Server.Alarms() {
		active = append(active, alarm.GetAlarm())
	}
	return active
}

// Close stops etcd once all data is on disk, and unlocks the data directory. The
// caller must stop the API server first.
func (s *Server) Close() error {
	s.etcd.Close()
	if err := s.lock.Close(); err != nil {
		return fmt.Errorf("unlocking the data directory: %w", err)
	}
	return nil
}
