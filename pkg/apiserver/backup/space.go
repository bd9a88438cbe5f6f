package backup

import (
	"io"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
)

// spaceInterval is the number of bytes between two checks of the disk's space.
const spaceInterval = 1 << 20

// embedded returns the data directory of the embedded etcd that has the store, false for an
// external etcd.
func (w *Websites) embedded() (string, bool) {
	for _, endpoint := range w.Config.Transport.ServerList {
		if dataDir, ok := embeddedetcd.DataDir(endpoint); ok {
			return dataDir, true
		}
	}
	return "", false
}

// writable returns an error while the disk of an embedded etcd has too little space: etcd ends its server when it
// cannot write. It is called before each write.
func (w *Websites) writable() error {
	if dataDir, ok := w.embedded(); ok {
		return embeddedetcd.Writable(dataDir)
	}
	return nil
}

// withSpace returns a writer to a file in dir that leaves space for an embedded etcd with its data on the
// same disk.
func (w *Websites) withSpace(dir string, out io.Writer) io.Writer {
	dataDir, ok := w.embedded()
	if !ok || !embeddedetcd.OnSameDisk(dir, dataDir) {
		return out
	}
	return &spaceWriter{Writer: out, dir: dir}
}

type spaceWriter struct {
	io.Writer
	dir string
	// checked is the number of bytes for which space was found.
	checked int
}

// Write writes if there is space.
func (s *spaceWriter) Write(p []byte) (int, error) {
	if len(p) > s.checked {
		size := max(len(p), spaceInterval)
		if err := embeddedetcd.SpaceFor(s.dir, int64(size)); err != nil {
			return 0, err
		}
		s.checked = size
	}
	s.checked -= len(p)
	return s.Writer.Write(p)
}
