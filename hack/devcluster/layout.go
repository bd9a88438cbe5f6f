package devcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubesites/website-apiserver/hack/devcluster/node"
)

// layout names the files of a state directory.
type layout struct{ dir string }

const (
	recordSuffix = ".json"
	// The embedded etcd of website-apiserver listens on a unix socket in its data
	// directory. The kernel limits the path of a socket to 104 bytes on macOS and 108 on
	// Linux; this leaves room for the socket's own name.
	maxDataDirLength = 70
)

func (l layout) lock() string                { return filepath.Join(l.dir, "lock") }
func (l layout) settings() string            { return filepath.Join(l.dir, "cluster.json") }
func (l layout) adminKubeconfig() string     { return filepath.Join(l.dir, "kubeconfig") }
func (l layout) bin() string                 { return filepath.Join(l.dir, "bin") }
func (l layout) home() string                { return filepath.Join(l.dir, "home") }
func (l layout) kubectlCache() string        { return filepath.Join(l.home(), "kubectl-cache") }
func (l layout) run() string                 { return filepath.Join(l.dir, "run") }
func (l layout) record(name string) string   { return filepath.Join(l.run(), name+recordSuffix) }
func (l layout) logs() string                { return filepath.Join(l.dir, "logs") }
func (l layout) log(name string) string      { return filepath.Join(l.logs(), name+".log") }
func (l layout) audit() string               { return filepath.Join(l.dir, "audit") }
func (l layout) auditLog(name string) string { return filepath.Join(l.audit(), name+".log") }
func (l layout) auditPolicy() string         { return filepath.Join(l.audit(), "policy.yaml") }
func (l layout) pki() string                 { return filepath.Join(l.dir, "pki") }
func (l layout) cert(name string) string     { return filepath.Join(l.pki(), name+".crt") }
func (l layout) key(name string) string      { return filepath.Join(l.pki(), name+".key") }
func (l layout) etcdData() string            { return filepath.Join(l.dir, "etcd") }
func (l layout) websiteEtcdData() string     { return filepath.Join(l.dir, websiteEtcd) }
func (l layout) websiteEtcdReplicas() string { return filepath.Join(l.dir, "website-etcd-replicas") }
func (l layout) node() string                { return filepath.Join(l.dir, "node") }
func (l layout) nodeFile(name string) string { return filepath.Join(l.node(), name) }
func (l layout) volume() string              { return l.nodeFile("volume") }
func (l layout) installation() string        { return filepath.Join(l.dir, "installation") }
func (l layout) containerdData() string      { return filepath.Join(l.dir, "containerd") }
func (l layout) kubeletData() string         { return filepath.Join(l.dir, "kubelet") }
func (l layout) git() string                 { return filepath.Join(l.dir, "git") }
func (l layout) gitCredentials() string      { return filepath.Join(l.node(), "git-credentials") }
func (l layout) kubeconfigs() string         { return filepath.Join(l.dir, "kubeconfigs") }
func (l layout) kubeconfig(name string) string {
	return filepath.Join(l.kubeconfigs(), name)
}

// make creates the directories, readable only by their owner: they contain keys.
func (l layout) make() error {
	for _, dir := range []string{l.dir, l.bin(), l.home(), l.run(), l.logs(), l.audit(), l.pki(), l.etcdData(),
		l.kubeconfigs()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("creating the state directory: %w", err)
		}
	}
	return nil
}

// remove deletes only the files that make and the components created: the user named the
// directory, which may contain other files. The lock file is last.
func (l layout) remove() error {
	// Damaged settings do not prevent the removal: they only name a directory outside of this one.
	s, err := loadSettings(l)
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	paths := []string{l.bin(), l.home(), l.run(), l.logs(), l.audit(), l.pki(), l.etcdData(), l.websiteEtcdData(),
		l.websiteEtcdReplicas(), l.kubeconfigs(),
		l.node(), l.containerdData(), l.kubeletData(), l.git(), l.installation(),
		filepath.Join(l.dir, websiteDataName), l.adminKubeconfig()}
	if s.WebsiteData != "" {
		paths = append(paths, s.WebsiteData)
	}
	paths = append(paths, l.settings(), l.lock())
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing the cluster's state: %w", err)
		}
	}
	// This fails, as it should, if the directory contains other files.
	_ = os.Remove(l.dir)
	return nil
}

// websiteDataName is the directory of website-apiserver's store. It is short, see maxDataDirLength.
const websiteDataName = "w"

// settings are the choices that a later Up in the same directory must repeat.
type settings struct {
	Ports Ports `json:"ports"`
	// WebsiteData is the data directory of website-apiserver.
	WebsiteData string `json:"websiteData"`
	// Mode is the kind of node; empty before the first start.
	Mode NodeMode `json:"mode,omitempty"`
	// ExternalEtcd is Options.ExternalEtcd.
	ExternalEtcd bool `json:"externalEtcd,omitempty"`
	// Gateway is Options.Gateway.
	Gateway bool `json:"gateway,omitempty"`
	// Programs are the paths of the programs that are not part of the product.
	Programs programs `json:"programs,omitempty"`
	// Node are the addresses of the real node; zero without one.
	Node node.Addresses `json:"node,omitzero"`
}

// errDamaged is returned for incomplete settings.
var errDamaged = errors.New("it is damaged, run \"make down\"")

// loadSettings returns zero settings if the directory has none.
func loadSettings(l layout) (settings, error) {
	var s settings
	data, err := os.ReadFile(l.settings())
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("reading the cluster's settings: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return settings{}, fmt.Errorf("reading %s: %w: %w", l.settings(), errDamaged, err)
	}
	return s, nil
}

func (s settings) save(l layout) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the cluster's settings: %w", err)
	}
	return writeFile(l.settings(), append(data, '\n'), 0o600)
}

// startedMode returns the kind of node with which the cluster was started, or empty: the choice may change
// until then.
func (s *settings) startedMode(l layout) NodeMode {
	if !isDirectory(filepath.Join(l.etcdData(), "member")) {
		return ""
	}
	return s.Mode
}

// chooseStore records the kind of node and the store of Websites, which a started cluster keeps: Websites of
// another store would not be served, and existing children would lose their owners.
func (s *settings) chooseStore(l layout, mode NodeMode, external bool) error {
	if started := s.startedMode(l); started != "" && (started != mode || s.ExternalEtcd != external) {
		return fmt.Errorf("the cluster in %s was started with --node=%s (NODE) and --external-etcd=%t, and stores Websites "+
			"there: run \"make down\" first, or start it with these", l.dir, started, s.ExternalEtcd)
	}
	s.Mode, s.ExternalEtcd = mode, external
	return s.save(l)
}

// chooseWebsiteData finds a data directory with a path short enough for a socket in it.
func (s *settings) chooseWebsiteData(l layout) error {
	if s.WebsiteData != "" {
		if err := os.MkdirAll(s.WebsiteData, 0o700); err != nil {
			return fmt.Errorf("creating the data directory of website-apiserver: %w", err)
		}
		return nil
	}
	s.WebsiteData = filepath.Join(l.dir, websiteDataName)
	if len(s.WebsiteData) <= maxDataDirLength {
		return s.chooseWebsiteData(l)
	}
	// Not in os.TempDir: on macOS, or with TMPDIR set, that is long as well.
	dir, err := os.MkdirTemp("/tmp", "websites-")
	if err != nil {
		return fmt.Errorf("creating the data directory of website-apiserver: %w", err)
	}
	s.WebsiteData = dir
	return nil
}
