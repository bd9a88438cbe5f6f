package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// fileLock is an exclusive lock between processes. The kernel releases it when the
// holder ends, however it ends, so a crash never leaves a stale lock behind.
type fileLock struct{ file *os.File }

var errLocked = errors.New("locked by another process")

// tryLock takes the lock at path or returns errLocked.
func tryLock(path string) (*fileLock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of lock file %s: %w", path, err)
	}
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("opening lock file: %w", err)
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = file.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, errLocked
			}
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		// The previous holder may have removed the file between our open and our lock
		// ("make down" removes the whole folder): such a lock excludes nobody.
		ours, err := file.Stat()
		if err == nil {
			if there, err := os.Stat(path); err == nil && os.SameFile(ours, there) {
				return &fileLock{file: file}, nil
			}
		}
		_ = file.Close()
	}
}

// lockFile takes the lock at path, calling waiting once if somebody else has it.
func lockFile(ctx context.Context, path string, waiting func()) (*fileLock, error) {
	lock, err := tryLock(path)
	if !errors.Is(err, errLocked) {
		return lock, err
	}
	waiting()
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, false, func(context.Context) (bool, error) {
		lock, err = tryLock(path)
		if errors.Is(err, errLocked) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for lock file %s: %w", path, err)
	}
	return lock, nil
}

func (l *fileLock) release() {
	// Closing releases the lock; there is nothing to do about a failure.
	_ = l.file.Close()
}

// writeFile replaces path in one step, so that no reader and no crash sees half of it.
// A file that already holds data is left alone, which keeps its modification time.
func writeFile(path string, data []byte, mode os.FileMode) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == string(data) {
		return nil
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	_, err = temp.Write(data)
	if err := errors.Join(err, temp.Chmod(mode), temp.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
