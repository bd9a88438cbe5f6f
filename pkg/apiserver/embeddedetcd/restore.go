package embeddedetcd

import (
	"errors"
	"path/filepath"
)

// Member is the only member of etcd's cluster.
type Member struct {
	// Name is the name of the member.
	Name string
	// PeerURL is advertised; nothing listens on it.
	PeerURL string
}

// Restore makes build create the data of etcd in dataDir, which no server may use.
// build gets the directory of the data.
func Restore(dataDir string, build func(dir string, member Member) error) error {
	if err := makeDir(dataDir); err != nil {
		return err
	}
	lock, err := lockDir(dataDir)
	if err != nil {
		return err
	}
	err = build(filepath.Join(etcdDir(dataDir), dataName), Member{Name: memberName, PeerURL: peerURL.String()})
	return errors.Join(err, lock.Close())
}
