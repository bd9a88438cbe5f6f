package node

import (
	"net"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
)

func TestDestinations(t *testing.T) {
	const eth, tunnel, ours = 2, 3, 4
	var routes []netlink.Route
	for _, r := range []struct {
		to   string
		link int
	}{{"0.0.0.0/0", eth}, {"0.0.0.0/1", tunnel}, {"192.0.2.0/24", eth}, {"127.0.0.1/32", 1}, {"10.200.1.0/24", ours},
		{"10.1.0.0/16", 0}} {
		_, to, err := net.ParseCIDR(r.to)
		if err != nil {
			t.Fatal(err)
		}
		routes = append(routes, netlink.Route{Dst: to, LinkIndex: r.link})
	}
	routes = append(routes, netlink.Route{LinkIndex: eth})
	if taken, want := destinations(routes, ours),
		prefixes("192.0.2.0/24", "127.0.0.1/32", "10.1.0.0/16"); !slices.Equal(taken, want) {
		t.Errorf("destinations = %v, want %v", taken, want)
	}
}
