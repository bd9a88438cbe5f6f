package devcluster

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func TestPortInUseMessage(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).Port
	err = checkPort(kubeScheduler, port)
	var inUse *PortInUseError
	if !errors.As(err, &inUse) {
		t.Fatalf("checkPort = %v, want a *PortInUseError", err)
	}
	want := []string{kubeScheduler, strconv.Itoa(port), "BASE_PORT="}
	if runtime.GOOS == "linux" {
		want = append(want, "pid "+strconv.Itoa(os.Getpid()))
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("message lacks %q: %v", part, err)
		}
	}
	_ = listener.Close()
	if err := checkPort(kubeScheduler, port); err != nil {
		t.Errorf("a free port: %v", err)
	}
}

func TestStartNamesAPortInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	p := newTestProcess(newLayout(t), "component", roleRuns)
	p.spec.ports = []portUse{{"component", listener.Addr().(*net.TCPAddr).Port}}
	var inUse *PortInUseError
	if err := p.Start(t.Context()); !errors.As(err, &inUse) || p.Running() {
		t.Errorf("Start = %v (running: %t), want a *PortInUseError", err, p.Running())
	}
}

func TestPortsOfTheUser(t *testing.T) {
	defaults := DefaultPorts(DefaultBasePort)
	if err := defaults.validate(); err != nil {
		t.Fatal(err)
	}
	if defaults.APIServer != DefaultBasePort || defaults.EtcdPeer != DefaultBasePort+7 ||
		defaults.WebsiteEtcdPeer != DefaultBasePort+11 {
		t.Errorf("DefaultPorts = %+v", defaults)
	}
	p := Ports{Etcd: 5000}
	p.fill(defaults)
	if p.Etcd != 5000 || p.Kwok != defaults.Kwok {
		t.Errorf("fill = %+v, want the chosen port and defaults", p)
	}
	tests := map[string]Ports{
		"twice":    {Etcd: defaults.APIServer},
		"too high": {Etcd: 70000},
		"negative": {Etcd: -1},
	}
	for name, ports := range tests {
		ports.fill(defaults)
		if err := ports.validate(); err == nil || !strings.Contains(err.Error(), etcd) {
			t.Errorf("%s: validate = %v, want an error that names etcd", name, err)
		}
	}
}

func TestReservedPortsDiffer(t *testing.T) {
	// Two reservations simulate two concurrent test binaries.
	a, b := newReservations(), newReservations()
	defer a.release()
	defer b.release()
	var first, second Ports
	if err := errors.Join(a.fill(&first), b.fill(&second)); err != nil {
		t.Fatal(err)
	}
	taken := map[int]bool{}
	for _, port := range append(first.all(), second.all()...) {
		if taken[*port.number] {
			t.Errorf("port %d was given out twice", *port.number)
		}
		taken[*port.number] = true
		if *port.number < firstFreePort || *port.number > lastFreePort {
			t.Errorf("port %d is out of range", *port.number)
		}
	}
}

func TestReservationSkipsPortsInUse(t *testing.T) {
	r := newReservations()
	defer r.release()
	port, err := r.next()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		t.Fatal(err)
	}
	r.release()
	if reserved, err := r.reserve(port); reserved || err != nil {
		t.Errorf("reserve(%d) = %t, %v while something listens on it", port, reserved, err)
	}
	_ = listener.Close()
	if reserved, err := r.reserve(port); !reserved || err != nil {
		t.Errorf("reserve(%d) = %t, %v of a free port", port, reserved, err)
	}
}
