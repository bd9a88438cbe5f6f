package history

import (
	"cmp"
	"slices"
	"time"
)

// Outage returns the longest period of failing operations that were called between two times, and
// their number: from the first call to the last return, without a second between two of them. A nil
// selection selects all.
func (h *History) Outage(from, to int64, selected func(*Operation) bool) (longest time.Duration, failed int) {
	var failures []*Operation
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Outcome == Unknown && o.Call >= from && o.Call <= to && (selected == nil || selected(o)) {
			failures = append(failures, o)
		}
	}
	slices.SortFunc(failures, func(a, b *Operation) int { return cmp.Compare(a.Call, b.Call) })
	var first, last int64
	for i, o := range failures {
		if i == 0 || o.Call-last > int64(time.Second) {
			first = o.Call
		}
		last = max(last, o.Return)
		longest = max(longest, time.Duration(last-first))
	}
	return longest, len(failures)
}
