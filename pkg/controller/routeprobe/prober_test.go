package routeprobe

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// gateway is a Prober in a synctest bubble, and the server at the address that it dials.
type gateway struct {
	*Prober
	start time.Time

	// mu guards requests and changes: hosts of several Websites are probed at the same time.
	mu sync.Mutex
	// requests are the times of requests, in seconds after the start.
	requests []int
	changes  int
	// header of the responses.
	header string
}

var shop = cache.NewObjectName("default", "shop")

func targetOf(hosts ...string) Target {
	var target Target
	for _, host := range hosts {
		target.Hosts = append(target.Hosts,
			Host{Name: host, Gateways: []Gateway{{Addresses: []string{"192.0.2.1"}, Endpoints: []Endpoint{{Port: 80}}}}})
	}
	return target
}

// atAddresses sets the addresses of all hosts.
func atAddresses(target Target, addresses ...string) {
	for i := range target.Hosts {
		target.Hosts[i].Gateways[0].Addresses = addresses
	}
}

// newGateway starts a Prober. The returned function ends it.
func newGateway() (*gateway, func()) {
	g := &gateway{start: time.Now(), header: "Website-Commit: " + testCommit}
	g.Prober = New(Config{
		Changed: g.changed, Clock: clock.RealClock{},
		Resolver: names{"a.example.com": {"192.0.2.1"}, "b.example.com": {"192.0.2.1"}},
		Dial: func(context.Context, string, string) (net.Conn, error) {
			g.mu.Lock()
			g.requests = append(g.requests, int(time.Since(g.start).Seconds()))
			g.mu.Unlock()
			client, server := net.Pipe()
			go func() {
				defer func() { _ = server.Close() }()
				if _, err := http.ReadRequest(bufio.NewReader(server)); err != nil {
					return
				}
				_, _ = server.Write([]byte("HTTP/1.1 200 OK\r\n" + g.header + "\r\n\r\n"))
			}()
			return client, nil
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.Run(ctx)
	}()
	return g, func() {
		cancel()
		<-done
	}
}

func (g *gateway) changed(cache.ObjectName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changes++
}

// after sleeps, and returns the times of the requests since the last call.
func (g *gateway) after(t time.Duration) []int {
	time.Sleep(t)
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	requests := g.requests
	g.requests = nil
	return requests
}

func check(t *testing.T, what string, got []int, want ...int) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: requests at %v, want %v", what, got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: requests at %v, want %v", what, got, want)
			return
		}
	}
}

// TestPeriods: once a minute while all hosts respond, every ten seconds while one fails, and
// immediately for another target or when the caller asks for it.
func TestPeriods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, end := newGateway()
		defer end()
		check(t, "nothing is wanted", g.after(time.Minute))
		g.Want(shop, targetOf("a.example.com"), false)
		check(t, "well", g.after(130*time.Second), 60, 120, 180)
		if expected := g.Want(shop, targetOf("a.example.com"), false); expected["a.example.com"].Commit != testCommit ||
			g.changes != 1 {
			t.Errorf("%+v is expected after %d changes, want the commit and one change", expected, g.changes)
		}
		check(t, "the same target", g.after(time.Second))

		g.header = "Server: other"
		g.Want(shop, targetOf("a.example.com"), true)
		check(t, "asked for, and failing", g.after(25*time.Second), 191, 201, 211)
		if expected := g.Want(shop, targetOf("a.example.com"), false); !strings.Contains(expected["a.example.com"].Failure,
			"not from a pod of the site") || g.changes != 2 {
			t.Errorf("%+v is expected after %d changes, want the failure and two changes", expected, g.changes)
		}

		g.header = "Website-Commit: " + testCommit
		g.Want(shop, targetOf("a.example.com", "b.example.com"), false)
		check(t, "another target, and the probe that was due", g.after(30*time.Second), 216, 216, 221, 221)
		g.Forget(shop)
		check(t, "forgotten", g.after(time.Hour))
	})
}

// TestSpecsThatChangeOften: a user who changes a spec many times a second does not cause as many
// probes, whether the hosts stay, change each time, or are removed in between.
func TestSpecsThatChangeOften(t *testing.T) {
	const most = 60/2 + promptBurst + 60/10 + 1
	for name, change := range map[string]func(g *gateway, i int){
		"the same hosts": func(g *gateway, _ int) { g.Want(shop, targetOf("a.example.com"), true) },
		"another host": func(g *gateway, i int) {
			g.Want(shop, targetOf([]string{"a.example.com", "b.example.com"}[i%2]), true)
		},
		"removed and added": func(g *gateway, _ int) {
			g.Forget(shop)
			g.Want(shop, targetOf("a.example.com"), true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, end := newGateway()
				defer end()
				requests := 0
				for i := range 60 * 20 {
					change(g, i)
					requests += len(g.after(time.Second / 20))
				}
				if requests < 10 || requests > most {
					t.Errorf("%d requests in a minute, want at most %d", requests, most)
				}
			})
		})
	}
}

// TestNewHost: the first probe of a host is not delayed by recent probes of other hosts of the
// Website.
func TestNewHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, end := newGateway()
		defer end()
		g.Want(shop, targetOf("a.example.com"), false)
		check(t, "of a new Website", g.after(100*time.Millisecond), 0)
		g.Want(shop, targetOf("a.example.com"), true)
		check(t, "asked for again", g.after(time.Second))
		g.Want(shop, targetOf("a.example.com", "b.example.com"), true)
		check(t, "another host", g.after(100*time.Millisecond), 1, 1)
	})
}

// TestForgottenForGood: a Website that does not come back leaves no state.
func TestForgottenForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, end := newGateway()
		defer end()
		g.Want(shop, targetOf("a.example.com"), false)
		g.after(time.Second)
		g.Forget(shop)
		g.after(time.Minute)
		if len(g.websites) > 0 {
			t.Errorf("%d Websites are remembered", len(g.websites))
		}
	})
}

// TestEarlierTarget: results for an earlier target are dropped.
func TestEarlierTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, end := newGateway()
		defer end()
		dial := g.requester.dial
		g.requester.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			time.Sleep(time.Second)
			return dial(ctx, network, address)
		}
		g.Want(shop, targetOf("a.example.com"), false)
		time.Sleep(500 * time.Millisecond)
		g.Want(shop, targetOf("b.example.com"), false)
		time.Sleep(time.Second)
		synctest.Wait()
		if expected := g.Want(shop, targetOf("b.example.com"), false); len(expected) != 0 {
			t.Errorf("%+v is expected of another target", expected)
		}
		check(t, "each target is requested", g.after(2*time.Second), 1, 2)
		if expected := g.Want(shop, targetOf("b.example.com"), false); expected["b.example.com"].Commit != testCommit {
			t.Errorf("%+v is expected, want the commit", expected)
		}
	})
}

// TestHostsWithoutAnswer: Websites with many hosts that do not respond do not delay others.
func TestHostsWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, end := newGateway()
		defer end()
		dial := g.requester.dial
		g.requester.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "198.51.100.") {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return dial(ctx, network, address)
		}
		for _, name := range []string{"one", "two", "three", "four"} {
			target := targetOf("a.silent.example", "b.silent.example", "c.silent.example", "d.silent.example")
			atAddresses(target, "198.51.100.1")
			g.Want(cache.NewObjectName("default", name), target, false)
		}
		synctest.Wait()
		g.Want(shop, targetOf("a.example.com"), false)
		check(t, "beside four Websites without an answer", g.after(time.Second), 0)
		time.Sleep(requestTimeout)
		synctest.Wait()
		if results := g.Want(cache.NewObjectName("default", "one"), targetOf(), false); len(results) != 4 {
			t.Errorf("%d hosts are expected after one timeout, want all 4", len(results))
		}
	})
}

// TestHostsWithoutAnswerOfANamespace: many Websites with unresponsive hosts in one namespace do not
// delay probes of other namespaces.
func TestHostsWithoutAnswerOfANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, end := newGateway()
		defer end()
		var inFlight atomic.Int32
		dial := g.requester.dial
		g.requester.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "198.51.100.") {
				inFlight.Add(1)
				defer inFlight.Add(-1)
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return dial(ctx, network, address)
		}
		var hosts []string
		for i := range 64 {
			hosts = append(hosts, fmt.Sprintf("%d.silent.example", i))
		}
		silent := targetOf(hosts...)
		atAddresses(silent, "198.51.100.1")
		for i := range workers {
			g.Want(cache.NewObjectName("silent", fmt.Sprint(i)), silent, false)
		}
		synctest.Wait()
		if got := inFlight.Load(); got != share*hostsAtOnce {
			t.Errorf("%d hosts without an answer are requested at once, want %d", got, share*hostsAtOnce)
		}
		g.Want(shop, targetOf("a.example.com"), false)
		check(t, "beside a namespace without an answer", g.after(time.Second), 0)

		time.Sleep(10 * time.Minute)
		synctest.Wait()
		for i := range workers {
			if results := g.Want(cache.NewObjectName("silent", fmt.Sprint(i)), silent, false); len(results) != len(hosts) {
				t.Errorf("%d hosts of Website %d are expected, want %d", len(results), i, len(hosts))
			}
		}
	})
}

// TestOneOfSeveralAnswers: neither an address nor a port that does not respond hides another one that
// does.
func TestOneOfSeveralAnswers(t *testing.T) {
	several := targetOf("a.example.com")
	atAddresses(several, "198.51.100.1", "198.51.100.2", "192.0.2.1")
	filtered := targetOf("a.example.com")
	filtered.Hosts[0].Gateways[0].Endpoints = []Endpoint{{Port: 8081}, {Port: 80}}
	for name, target := range map[string]Target{"addresses": several, "ports": filtered} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, end := newGateway()
				defer end()
				dial := g.requester.dial
				g.requester.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if strings.HasPrefix(address, "198.51.100.") || strings.HasSuffix(address, ":8081") {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					return dial(ctx, network, address)
				}
				g.Want(shop, target, false)
				g.after(requestTimeout)
				if expected := g.Want(shop, target, false); expected["a.example.com"].Commit != testCommit {
					t.Errorf("%+v is expected, want the commit", expected)
				}
			})
		})
	}
}

// TestLinkLocal: the metadata service of a cloud is not requested, even if a user sets its address in
// a Gateway.
func TestLinkLocal(t *testing.T) {
	p := New(Config{Clock: clock.RealClock{}})
	for _, address := range []string{"169.254.169.254:80", "[fe80::1]:80", "[::ffff:169.254.169.254]:80"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		connection, err := p.requester.dial(ctx, "tcp", address)
		cancel()
		if err == nil {
			_ = connection.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "link-local") {
			t.Errorf("dialling %s: %v, want a refusal", address, err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	connection, err := p.requester.dial(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatalf("dialling another address: %v", err)
	}
	_ = connection.Close()
}
