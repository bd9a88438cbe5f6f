package embeddedetcd

import "fmt"

// reservedBytes are left free on the disk: etcd allocates a segment of 64 MiB for
// its write-ahead log at once, and ends the process when a write fails.
const reservedBytes = 128 << 20

// Writable returns an error while the disk of dataDir has too little space for
// etcd to write.
func Writable(dataDir string) error {
	free, err := freeBytes(etcdDir(dataDir))
	if err != nil {
		return fmt.Errorf("reading the free space of the data directory: %w", err)
	}
	if free < reservedBytes {
		return fmt.Errorf("the disk of the data directory has %d MiB free, %d MiB are needed: free some, or enlarge it",
			free>>20, reservedBytes>>20)
	}
	return nil
}

// SpaceFor returns an error if a file of this size in dir would leave etcd, whose data
// may be on the same disk, too little space to write.
func SpaceFor(dir string, bytes int64) error {
	free, err := freeBytes(dir)
	if err != nil {
		return fmt.Errorf("reading the free space of %s: %w", dir, err)
	}
	if free-bytes < reservedBytes {
		return fmt.Errorf("the disk of %s has %d MiB free, %d MiB are needed: free some, or enlarge it", dir, free>>20,
			(bytes+reservedBytes)>>20)
	}
	return nil
}

// OnSameDisk reports whether a directory is on the disk of dataDir, or that is unknown.
func OnSameDisk(dir, dataDir string) bool {
	one, err := device(dir)
	other, otherErr := device(etcdDir(dataDir))
	return err != nil || otherErr != nil || one == other
}
