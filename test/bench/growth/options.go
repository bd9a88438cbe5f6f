package growth

import "github.com/kubesites/website-apiserver/test/bench/measure"

// Defaults are the sizes of "make bench-growth". Events are events of changes.
func Defaults() measure.Options {
	return measure.Options{Sizes: []int{1000, 10000, 50000, 100000}, PerNamespace: 1000, Clients: 16,
		Events: 100, Lists: 3}
}
