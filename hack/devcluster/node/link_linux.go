package node

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"
)

// inside is the name of the pair's end in the node.
const inside = "eth0"

// Link is the pair of virtual interfaces between the host and a node.
type Link struct {
	// Name is the interface on the host, at most 15 characters.
	Name string
	Addresses
	// Services is the range of Services, which the node routes into the pair so that
	// kube-proxy sees what its own processes send there.
	Services string
}

// Taken are the networks that this machine has routes to, except through the pair.
func (l Link) Taken(ctx context.Context) ([]netip.Prefix, error) {
	out, err := execute(ctx, "ip", "-json", "-4", "route", "show", "table", "all")
	if err != nil {
		return nil, fmt.Errorf("listing this machine's routes: %w", err)
	}
	return parseRoutes([]byte(out), l.Name)
}

// Connect makes the pair between the host and the node of that first process, unless it is
// there.
func (l Link) Connect(ctx context.Context, pid int) error {
	if l.connected(ctx, pid) {
		return nil
	}
	// One that leads to an earlier node disappears by itself, but not at once.
	if err := l.Remove(ctx); err != nil {
		return err
	}
	host, node, err := l.prefixes()
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"link", "add", "name", l.Name, "type", "veth", "peer", "name", inside, "netns", fmt.Sprint(pid)},
		{"address", "add", host, "dev", l.Name},
		{"link", "set", l.Name, "up"},
		{"route", "add", l.Pods, "via", l.Node(), "dev", l.Name},
	} {
		if _, err := execute(ctx, "ip", args...); err != nil {
			return fmt.Errorf("joining the node to the host: %w", err)
		}
	}
	for _, args := range [][]string{
		{"address", "add", node, "dev", inside},
		{"link", "set", inside, "up"},
		{"route", "add", l.Services, "via", l.Host(), "dev", inside},
	} {
		if _, err := Run(ctx, pid, "ip", args...); err != nil {
			return fmt.Errorf("joining the node to the host: %w", err)
		}
	}
	return nil
}

func (l Link) prefixes() (host, node string, err error) {
	pair, err := netip.ParsePrefix(l.Pair)
	if err != nil {
		return "", "", fmt.Errorf("the node's addresses are damaged: %w", err)
	}
	return fmt.Sprintf("%s/%d", l.Host(), pair.Bits()), fmt.Sprintf("%s/%d", l.Node(), pair.Bits()), nil
}

// connected reports whether both ends are complete: the last thing Connect does to each is
// to add a route.
func (l Link) connected(ctx context.Context, pid int) bool {
	if !hasAddress(l.Name, l.Host()) {
		return false
	}
	outside, err := execute(ctx, "ip", "-json", "route", "show", l.Pods, "dev", l.Name)
	if err != nil || len(outside) < len("[{}]") {
		return false
	}
	within, err := Run(ctx, pid, "ip", "-json", "route", "show", l.Services, "via", l.Host(), "dev", inside)
	return err == nil && len(within) >= len("[{}]")
}

func hasAddress(name, address string) bool {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return false
	}
	addresses, err := i.Addrs()
	if err != nil {
		return false
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.String() == address {
			return true
		}
	}
	return false
}

// Exists reports whether the host has its end of the pair.
func (l Link) Exists() bool {
	_, err := os.Lstat("/sys/class/net/" + l.Name)
	return err == nil
}

// Remove removes the pair if it exists.
func (l Link) Remove(ctx context.Context) error {
	if !l.Exists() {
		return nil
	}
	_, err := execute(ctx, "ip", "link", "delete", l.Name)
	// The kernel may have been faster: the pair goes with the node.
	for range removalTimeout / removalInterval {
		if !l.Exists() {
			return nil
		}
		if ctx.Err() != nil {
			break
		}
		time.Sleep(removalInterval)
	}
	return fmt.Errorf("removing the interface %s: %w", l.Name, err)
}
