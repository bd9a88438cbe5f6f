package routeprobe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// shownAddresses is the number of addresses in a message.
const shownAddresses = 3

// elsewhere returns the reason why a host does not resolve to addresses, or "". It ignores lookups
// that fail for another reason than the name.
func (r *requester) elsewhere(ctx context.Context, addresses []string, host string) string {
	if len(addresses) == 0 {
		return ""
	}
	found, err := r.resolver.LookupHost(ctx, absolute(host))
	var notFound *net.DNSError
	switch {
	case errors.As(err, &notFound) && notFound.IsNotFound:
		return fmt.Sprintf("DNS has no address for %s: add a record for %s", host, strings.Join(short(addresses), ", "))
	case err != nil:
		return ""
	}
	var wanted []string
	for _, address := range addresses {
		if net.ParseIP(address) != nil {
			wanted = append(wanted, address)
		} else if resolved, err := r.resolver.LookupHost(ctx, absolute(address)); err == nil {
			wanted = append(wanted, resolved...)
		}
	}
	if len(wanted) == 0 || slices.ContainsFunc(found,
		func(address string) bool { return slices.ContainsFunc(wanted, sameAddress(address)) }) {
		return ""
	}
	slices.Sort(found)
	return fmt.Sprintf("DNS of %s leads to %s, not to %s", host, strings.Join(short(found), ", "),
		strings.Join(short(addresses), ", "))
}

// absolute makes a name absolute, so that it is not looked up in the search domains of the pod: one
// of them may have a wildcard record.
func absolute(name string) string { return strings.TrimSuffix(name, ".") + "." }

// sameAddress compares addresses in any notation.
func sameAddress(address string) func(string) bool {
	return func(other string) bool {
		a, b := net.ParseIP(address), net.ParseIP(other)
		return a != nil && b != nil && a.Equal(b)
	}
}

func short(addresses []string) []string { return addresses[:min(len(addresses), shownAddresses)] }
