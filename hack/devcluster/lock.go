package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"k8s.io/apimachinery/pkg/util/wait"
)

// tryLock takes the lock at path or returns fileutil.ErrLocked. The kernel releases it when
// the holder ends.
func tryLock(path string) (*fileutil.LockedFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("creating the directory of lock file %s: %w", path, err)
	}
	for {
		lock, err := fileutil.TryLockFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		// The previous holder may have removed the file between open and lock ("make
		// down" removes the whole directory): such a lock excludes no other process.
		ours, err := lock.Stat()
		if err == nil {
			if there, err := os.Stat(path); err == nil && os.SameFile(ours, there) {
				return lock, nil
			}
		}
		_ = lock.Close()
	}
}

// lockFile takes the lock at path, calling waiting once if another process has it.
func lockFile(ctx context.Context, path string, waiting func()) (*fileutil.LockedFile, error) {
	lock, err := tryLock(path)
	if !errors.Is(err, fileutil.ErrLocked) {
		return lock, err
	}
	waiting()
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, false, func(context.Context) (bool, error) {
		lock, err = tryLock(path)
		if errors.Is(err, fileutil.ErrLocked) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for lock file %s: %w", path, err)
	}
	return lock, nil
}

// writeFile replaces path atomically.
func writeFile(path string, data []byte, mode os.FileMode) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	_, err = temp.Write(data)
	// Without Sync, a renamed file can be empty after a power failure.
	if err := errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
