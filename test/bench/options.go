package bench

import (
	"reflect"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Full are the sizes of "make bench".
func Full() measure.Options {
	return measure.Options{Websites: 5000, Rounds: 5, Requests: 500, Lists: 5, Clients: 16, Watchers: []int{50, 200},
		Events: 100, Targets: []string{}}
}

// Quick are the sizes of "make bench QUICK=1": fewer targets and operations too, and the result is compared with
// Ranges.
func Quick() measure.Options {
	return measure.Options{Quick: true, Websites: 1000, Rounds: 1, Requests: 400, Lists: 6, Clients: 16,
		Watchers: []int{50}, Events: 40, Targets: []string{}}
}

// areQuick reports whether the sizes are the sizes of Quick, for which the committed ranges are.
func areQuick(o measure.Options) bool {
	quick := Quick()
	quick.Out, quick.Progress = o.Out, o.Progress
	return reflect.DeepEqual(o, quick)
}
