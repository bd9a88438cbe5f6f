package devcluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// DefaultBasePort is the first port of a detached cluster. The ports differ from the usual
// ports of Kubernetes and are below the ephemeral ports of Linux and macOS.
const DefaultBasePort = 16443

// Free ports for tests are chosen from this range, also below the ephemeral ports: a
// free port cannot become the local port of a connection meanwhile.
const (
	firstFreePort = 20000
	lastFreePort  = 29999
)

// Ports are the TCP ports on 127.0.0.1 that a cluster uses. Zero means: not chosen.
type Ports struct {
	APIServer         int `json:"kube-apiserver"`
	WebsiteAPIServer  int `json:"website-apiserver"`
	WebsiteController int `json:"website-controller"`
	ControllerManager int `json:"kube-controller-manager"`
	Scheduler         int `json:"kube-scheduler"`
	Kwok              int `json:"kwok"`
	Etcd              int `json:"etcd"`
	EtcdPeer          int `json:"etcd-peer"`
	WebsiteEtcd       int `json:"website-etcd"`
	WebsiteEtcdPeer   int `json:"website-etcd-peer"`
	// GitServer and NodeProxy are on the host's address of the pair, not on 127.0.0.1.
	GitServer int `json:"git-server"`
	NodeProxy int `json:"node-proxy"`
}

// DefaultPorts returns consecutive ports from base on, kube-apiserver first.
func DefaultPorts(base int) Ports {
	var p Ports
	for i, port := range p.all() {
		*port.number = base + i
	}
	return p
}

type portField struct {
	use    string
	number *int
}

func (p *Ports) all() []portField {
	return []portField{
		{kubeAPIServer, &p.APIServer},
		{websiteAPIServer, &p.WebsiteAPIServer},
		{websiteController, &p.WebsiteController},
		{kubeControllerManager, &p.ControllerManager},
		{kubeScheduler, &p.Scheduler},
		{kwok, &p.Kwok},
		{etcd, &p.Etcd},
		{"etcd-peer", &p.EtcdPeer},
		{gitServer, &p.GitServer},
		{"node-proxy", &p.NodeProxy},
		{websiteEtcd, &p.WebsiteEtcd},
		{"website-etcd-peer", &p.WebsiteEtcdPeer},
	}
}

// fill replaces every zero of p by the port of the same use in other.
func (p *Ports) fill(other Ports) {
	from := other.all()
	for i, port := range p.all() {
		if *port.number == 0 {
			*port.number = *from[i].number
		}
	}
}

// validate rejects invalid and duplicate ports.
func (p *Ports) validate() error {
	taken := map[int]string{}
	for _, port := range p.all() {
		if *port.number < 1 || *port.number > 65535 {
			return fmt.Errorf("port %d of %s is not between 1 and 65535", *port.number, port.use)
		}
		if other, ok := taken[*port.number]; ok {
			return fmt.Errorf("port %d is chosen for both %s and %s", *port.number, other, port.use)
		}
		taken[*port.number] = port.use
	}
	return nil
}

// reservations keep chosen ports from other test binaries of the same user, from
// their choice until a component listens on them.
type reservations struct {
	dir   string
	mu    sync.Mutex
	locks []*fileutil.LockedFile
}

func newReservations() *reservations {
	return &reservations{dir: filepath.Join(os.TempDir(), "devcluster-ports-"+strconv.Itoa(os.Getuid()))}
}

// next finds a free port and holds it until release.
func (r *reservations) next() (int, error) {
	// The random start keeps parallel test binaries from trying the same ports.
	const count = lastFreePort - firstFreePort + 1
	start := rand.IntN(count)
	for i := range count {
		port := firstFreePort + (start+i)%count
		if reserved, err := r.reserve(port); reserved || err != nil {
			return port, err
		}
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1 between %d and %d", firstFreePort, lastFreePort)
}

// reserve holds a port, unless another process has it.
func (r *reservations) reserve(port int) (bool, error) {
	lock, err := tryLock(filepath.Join(r.dir, strconv.Itoa(port)))
	if errors.Is(err, fileutil.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reserving a port: %w", err)
	}
	if !portFree(port) {
		_ = lock.Close()
		return false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.locks = append(r.locks, lock)
	return true, nil
}

// fill replaces every zero of p by a free port.
func (r *reservations) fill(p *Ports) error {
	for _, port := range p.all() {
		if *port.number != 0 {
			continue
		}
		number, err := r.next()
		if err != nil {
			return fmt.Errorf("choosing a port for %s: %w", port.use, err)
		}
		*port.number = number
	}
	return nil
}

func (r *reservations) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, lock := range r.locks {
		_ = lock.Close()
	}
	r.locks = nil
}

func portFree(port int) bool {
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return !errors.Is(err, syscall.EADDRINUSE)
	}
	_ = listener.Close()
	return true
}

// PortInUseError means that another process has a port that a component needs.
type PortInUseError struct {
	// Use is the component, or the name of its second port.
	Use string
	// Port is the TCP port on 127.0.0.1.
	Port int
	// Holder is the process that listens on it, or empty if it is unknown.
	Holder string
}

// Error names the component, the port and its holder, and the remedy.
func (e *PortInUseError) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another process"
	}
	return fmt.Sprintf("%s needs port %d on 127.0.0.1, but %s listens on it: stop that process, or choose other ports "+
		"(make up BASE_PORT=%d)", e.Use, e.Port, holder, DefaultBasePort+1000)
}

func checkPort(use string, port int) error {
	if portFree(port) {
		return nil
	}
	return &PortInUseError{Use: use, Port: port, Holder: portHolder(port)}
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func httpsURL(port int) string { return "https://" + loopback(port) }
