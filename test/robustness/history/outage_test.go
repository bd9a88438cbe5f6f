package history

import (
	"testing"
	"time"
)

func TestOutage(t *testing.T) {
	at := func(seconds int64) int64 { return seconds * int64(time.Second) }
	h := &History{Operations: []Operation{
		{Verb: Get, Outcome: Unknown, Call: at(30), Return: at(31)},
		{Verb: Update, Outcome: Unknown, Call: at(10), Return: at(14)}, // The operation hangs.
		{Verb: Update, Outcome: Unknown, Call: at(11), Return: at(12)},
		{Verb: Update, Outcome: OK, Call: at(1), Return: at(60)},
		{Verb: Get, Outcome: Unknown, Call: at(99), Return: at(120)},
	}}
	for name, test := range map[string]struct {
		from, to int64
		selected func(*Operation) bool
		longest  time.Duration
		failed   int
	}{
		"all":    {0, at(60), nil, 4 * time.Second, 3},
		"reads":  {0, at(60), func(o *Operation) bool { return !o.Verb.Writes() }, time.Second, 1},
		"before": {0, at(9), nil, 0, 0},
		"later":  {at(90), at(100), nil, 21 * time.Second, 1},
	} {
		if longest, failed := h.Outage(test.from, test.to, test.selected); longest != test.longest || failed != test.failed {
			t.Errorf("%s: %d failed in %v, want %d in %v", name, failed, longest, test.failed, test.longest)
		}
	}
}
