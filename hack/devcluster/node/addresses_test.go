package node

import (
	"net/netip"
	"strings"
	"testing"
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func TestChoose(t *testing.T) {
	a, err := Choose(nil, 3)
	if err != nil || a.Pair != "10.200.6.0/30" || a.Pods != "10.200.7.0/24" || a.Host() != "10.200.6.1" ||
		a.Node() != "10.200.6.2" {
		t.Errorf("Choose = %+v, %v", a, err)
	}
	if other, err := Choose(prefixes("10.200.6.0/25", "10.200.9.7/32"), 3); err != nil || other.Pair != "10.200.10.0/30" {
		t.Errorf("beside two routes: %+v, %v", other, err)
	}
	if last, err := Choose(prefixes("10.203.254.0/23"), 511); err != nil || last.Pair != "10.200.0.0/30" {
		t.Errorf("after the last block of a pool: %+v, %v, want the first one", last, err)
	}
	if other, err := Choose(prefixes("10.0.0.0/8"), 1<<16-1); err != nil || !strings.HasPrefix(other.Pair, "172.") {
		t.Errorf("in a network that claims all of 10: %+v, %v", other, err)
	}
	if a, err := Choose(prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"), 0); err == nil {
		t.Errorf("Choose = %+v although nothing is free", a)
	}
}

func TestCollides(t *testing.T) {
	a, err := Choose(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		addresses Addresses
		taken     []netip.Prefix
		want      bool
	}{
		"free":         {a, prefixes("10.100.0.0/16"), false},
		"pair taken":   {a, prefixes(a.Pair), true},
		"pods taken":   {a, prefixes(a.Pods), true},
		"not chosen":   {Addresses{}, nil, true},
		"damaged pair": {Addresses{Pair: "10.0.0.0/8", Pods: a.Pods}, nil, true},
	} {
		if got := test.addresses.Collides(test.taken); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
