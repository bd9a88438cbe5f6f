package node

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// inside is the name of the pair's end in the node.
const inside = "eth0"

// Link is the pair of virtual interfaces between the host and a node.
type Link struct {
	// Name is the interface on the host, at most 15 characters.
	Name string
	Addresses
	// Services is the range of Services, which the node routes into the pair so that
	// kube-proxy handles connections of the node's own processes.
	Services string
}

// Taken returns the networks that this machine has routes to, except through the pair.
func (l Link) Taken() ([]netip.Prefix, error) {
	routes, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Table: unix.RT_TABLE_UNSPEC},
		netlink.RT_FILTER_TABLE)
	// Concurrent changes of routes come from other clusters.
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, fmt.Errorf("listing this machine's routes: %w", err)
	}
	ours := -1
	if link, err := netlink.LinkByName(l.Name); err == nil {
		ours = link.Attrs().Index
	}
	return destinations(routes, ours), nil
}

// destinations returns the destinations of routes, without those through the interface ours.
func destinations(routes []netlink.Route, ours int) []netip.Prefix {
	var taken []netip.Prefix
	for _, r := range routes {
		if r.Dst == nil || r.LinkIndex == ours {
			continue
		}
		// A default route, also one in two halves as some private networks set it, does
		// not claim every address.
		addr, ok := netip.AddrFromSlice(r.Dst.IP)
		if bits, _ := r.Dst.Mask.Size(); ok && bits > 1 {
			taken = append(taken, netip.PrefixFrom(addr.Unmap(), bits))
		}
	}
	return taken
}

// Connect creates the pair between the host and the new node of that first process.
func (l Link) Connect(pid int) error {
	namespace, err := netns.GetFromPid(pid)
	if err != nil {
		return fmt.Errorf("finding the node's network: %w", err)
	}
	defer func() { _ = namespace.Close() }()
	node, err := netlink.NewHandleAt(namespace, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("entering the node's network: %w", err)
	}
	defer node.Close()
	pair := netlink.NewVeth(netlink.LinkAttrs{Name: l.Name})
	pair.PeerName, pair.PeerNamespace = inside, netlink.NsPid(pid)
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("joining the node to the host: %w", err)
	}
	return errors.Join(
		end{&netlink.Handle{}, l.Name, l.Host(), l.Pods, l.Node()}.setUp(),
		end{node, inside, l.Node(), l.Services, l.Host()}.setUp())
}

// end is one interface of the pair, with the networks behind the other.
type end struct {
	*netlink.Handle
	name, address, network, gateway string
}

// setUp configures a new interface with its address and, last, its route.
func (e end) setUp() error {
	link, err := e.LinkByName(e.name)
	_, network, networkErr := net.ParseCIDR(e.network)
	address, addressErr := netlink.ParseAddr(e.address + "/30")
	if err = errors.Join(err, networkErr, addressErr); err == nil {
		err = e.AddrAdd(link, address)
	}
	if err == nil {
		err = e.LinkSetUp(link)
	}
	if err == nil {
		err = e.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: network, Gw: net.ParseIP(e.gateway)})
	}
	if err != nil {
		return fmt.Errorf("setting up %s between the node and the host: %w", e.name, err)
	}
	return nil
}

// Exists reports whether the host has its end of the pair.
func (l Link) Exists() bool {
	_, err := netlink.LinkByName(l.Name)
	return err == nil
}

// Remove removes the pair if it exists.
func (l Link) Remove() error {
	link, err := netlink.LinkByName(l.Name)
	if err != nil {
		return nil
	}
	// The kernel may have removed it with the node already.
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("removing the interface %s: %w", l.Name, err)
	}
	return nil
}
