package node

import (
	"errors"
	"fmt"
	"net/netip"
)

// Addresses are the networks of a node and its pods. The zero value means: not chosen.
type Addresses struct {
	// Pair is the network between the host and the node, a /30: the host has its first
	// address, the node its second.
	Pair string `json:"pair,omitempty"`
	// Pods is the network of the pods.
	Pods string `json:"pods,omitempty"`
}

// pools are private ranges, divided into blocks of /23. There are several, because
// a company's network may use all of one. They exclude the addresses of Services
// and the first choices of other container tools (10.0, 10.42, 10.88, 10.244,
// 172.17 and 192.168.0).
var pools = []netip.Prefix{
	netip.MustParsePrefix("10.200.0.0/14"),
	netip.MustParsePrefix("172.28.0.0/14"),
	netip.MustParsePrefix("192.168.192.0/18"),
}

const blockBits = 23

// Choose returns addresses that do not overlap with taken. The search begins at a block
// derived from start, so that clusters started at the same time choose different ones.
func Choose(taken []netip.Prefix, start int) (Addresses, error) {
	for _, pool := range pools {
		count := 1 << (blockBits - pool.Bits())
		for i := range count {
			block := blockOf(pool, (start+i)%count)
			if !overlaps(block, taken) {
				return cut(block), nil
			}
		}
	}
	return Addresses{}, fmt.Errorf("no free private addresses for the node: the routes of this machine (ip route show "+
		"table all) cover all of %v", pools)
}

func blockOf(pool netip.Prefix, i int) netip.Prefix {
	a := pool.Addr().As4()
	n := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	n += uint32(i) << (32 - blockBits)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), blockBits)
}

// cut takes the pair from the first half of a block, and the pods' network from the second.
func cut(block netip.Prefix) Addresses {
	a := block.Addr().As4()
	a[2]++
	return Addresses{
		Pair: netip.PrefixFrom(block.Addr(), 30).String(),
		Pods: netip.PrefixFrom(netip.AddrFrom4(a), 24).String(),
	}
}

func overlaps(block netip.Prefix, taken []netip.Prefix) bool {
	for _, t := range taken {
		if t.Overlaps(block) {
			return true
		}
	}
	return false
}

// Collides reports whether chosen addresses are in use elsewhere by now, or are damaged.
func (a Addresses) Collides(taken []netip.Prefix) bool {
	pair, err := netip.ParsePrefix(a.Pair)
	pods, podsErr := netip.ParsePrefix(a.Pods)
	return errors.Join(err, podsErr) != nil || pair.Bits() != 30 || overlaps(pair, taken) || overlaps(pods, taken)
}

// Host returns the address of the host's side of the pair.
func (a Addresses) Host() string { return a.nth(1) }

// Node returns the node's address, which serves NodePorts.
func (a Addresses) Node() string { return a.nth(2) }

func (a Addresses) nth(n int) string {
	pair, err := netip.ParsePrefix(a.Pair)
	if err != nil {
		return ""
	}
	addr := pair.Addr()
	for range n {
		addr = addr.Next()
	}
	return addr.String()
}
