package requests

import (
	"net/url"
	"slices"
	"strings"
)

// Header carries the signature of a request. It is not Authorization, which the API server takes for its own if it is
// the proxy to the pod.
const Header = "Website-Authorization"

// Parameters of requests for /status. Neither changes anything.
const (
	// ParameterWait is the time to wait for something new, and ParameterAfter the revision
	// that is known.
	ParameterWait  = "wait"
	ParameterAfter = "after"
)

// Parameters that require a signature.
const (
	// ParameterHold says that there are other replicas to hold a release for. The client that sends
	// it ends the hold.
	ParameterHold = "hold"
	// ParameterExpect is a commit that another replica has. The request waits until this
	// one serves or holds it, or another that it did not have at the revision that is known:
	// a later one can have been pushed.
	ParameterExpect = "expect"
	// ParameterRelease is a commit that all replicas have: its hold ends. The request waits
	// until it is served.
	ParameterRelease = "release"
	// ParameterSync identifies a request to fetch now. The request waits until a fetch that
	// began later has failed, or its commit is served or held. A repeated request causes no
	// other fetch.
	ParameterSync = "sync"
	// ParameterPin is the commit to serve, PinCurrent, or empty for the last one that was fetched, and
	// ParameterGeneration the generation of the Website that says so: an earlier one changes
	// nothing within two minutes, and is of a restored store after that. The request waits until that commit is
	// served or held, or cannot be fetched.
	ParameterPin        = "pin"
	ParameterGeneration = "generation"
)

var signed = []string{ParameterHold, ParameterExpect, ParameterRelease, ParameterSync, ParameterPin,
	ParameterGeneration}

// NeedsSignature reports whether a request asks for a change.
func NeedsSignature(parameters url.Values) bool {
	return slices.ContainsFunc(signed, parameters.Has)
}

// Unsigned returns the parameters that need no signature.
func Unsigned(parameters url.Values) url.Values {
	unsigned := url.Values{}
	for _, name := range []string{ParameterWait, ParameterAfter} {
		if parameters.Has(name) {
			unsigned.Set(name, parameters.Get(name))
		}
	}
	return unsigned
}

// IsSyncID reports whether a value identifies a request to fetch: the controller chooses it.
func IsSyncID(value string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return value != "" && len(value) <= 64 && strings.Trim(value, letters+"0123456789:._+-") == ""
}
