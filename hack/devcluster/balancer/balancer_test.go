package balancer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// echo is a server that answers each line with its name.
func echo(t *testing.T, name string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					_, _ = fmt.Fprintln(conn, name)
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// client is a connection to the balancer.
type client struct {
	net.Conn
	lines *bufio.Reader
}

func dial(t *testing.T, b *Balancer) *client {
	t.Helper()
	conn, err := net.Dial("tcp", b.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &client{conn, bufio.NewReader(conn)}
}

// query returns the name of the server that answers within the timeout.
func (c *client) query(timeout time.Duration) (string, error) {
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(c, "name"); err != nil {
		return "", err
	}
	line, err := c.lines.ReadString('\n')
	if err != nil {
		return "", err
	}
	return line[:len(line)-1], nil
}

func waitReady(t *testing.T, b *Balancer, want ...string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !slices.Equal(b.Ready(), want); {
		if time.Now().After(deadline) {
			t.Fatalf("ready = %v, want %v", b.Ready(), want)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestBalancer(t *testing.T) {
	const patience = 30 * time.Second
	var down atomic.Bool
	first, second := echo(t, "first"), echo(t, "second")
	b, err := Start(Options{
		Address: "127.0.0.1:0", Servers: map[string]string{"first": first, "second": second},
		Probe: func(_ context.Context, address string) error {
			if address == first && down.Load() {
				return errors.New("not ready")
			}
			return nil
		},
		Period: 10 * time.Millisecond, FailureThreshold: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	waitReady(t, b, "first", "second")
	clients := map[string]*client{}
	for len(clients) < 2 {
		c := dial(t, b)
		name, err := c.query(patience)
		if err != nil {
			t.Fatal(err)
		}
		clients[name] = c
	}

	down.Store(true)
	waitReady(t, b, "second")
	for range 20 {
		if name, err := dial(t, b).query(patience); err != nil || name != "second" {
			t.Fatalf("a new connection leads to %q (%v), want the ready server", name, err)
		}
	}
	if name, err := clients["first"].query(patience); err != nil || name != "first" {
		t.Errorf("an existing connection leads to %q (%v), want first", name, err)
	}

	b.CutOff("second")
	waitReady(t, b)
	if name, err := clients["second"].query(50 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) &&
		!isTimeout(err) {
		t.Errorf("a server that is cut off answers %q (%v), want a timeout", name, err)
	}
	if name, err := dial(t, b).query(patience); err == nil {
		t.Errorf("without a ready server, %q answers; want a closed connection", name)
	}
	b.Reconnect("second")
	waitReady(t, b, "second")
	if err := clients["second"].SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if line, err := clients["second"].lines.ReadString('\n'); err != nil || line != "second\n" {
		t.Errorf("afterwards it answers %q (%v), want the answer to the earlier line", line, err)
	}
	if total := b.Connections(); total["second"] < 20 || total["first"] == 0 {
		t.Errorf("connections = %v", total)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
