package check

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/robustness/history"
)

func TestSoundHistory(t *testing.T) {
	h := sound()
	h.Sort()
	if violations := Run(h); len(violations) != 0 {
		t.Errorf("violations = %v, want none", violations)
	}
}

// TestUnknownOutcomes has writes without a response: etcd's history tells which of them happened.
func TestUnknownOutcomes(t *testing.T) {
	h := sound()
	unknown := func(id int) *history.Operation {
		i := slices.IndexFunc(h.Operations, func(o history.Operation) bool { return o.ID == id })
		h.Operations[i].Outcome, h.Operations[i].Object = history.Unknown, nil
		return &h.Operations[i]
	}
	unknown(30)
	unknown(50).Return = at(48)
	// The write is stored after its client has given up.
	unknown(70).Return = at(68)
	lost := write(history.Patch, object("a", "a1", 35, "x"), 0)
	lost.Outcome, lost.Object = history.Unknown, nil
	second := h.Operations[4]
	second.ID, second.Call = 51, at(49)
	h.Operations = append(h.Operations, lost, second)
	h.Sort()
	if violations := Run(h); len(violations) != 0 {
		t.Errorf("violations = %v, want none", violations)
	}
}

func TestViolations(t *testing.T) {
	operation := func(h *history.History, id int) *history.Operation {
		i := slices.IndexFunc(h.Operations, func(o history.Operation) bool { return o.ID == id })
		return &h.Operations[i]
	}
	events := func(h *history.History, id int) *[]history.Event {
		i := slices.IndexFunc(h.Watches, func(w history.Watch) bool { return w.ID == id })
		return &h.Watches[i].Events
	}
	tests := map[string]struct {
		change func(h *history.History)
		want   []string
	}{
		"an acknowledged write is lost": {
			change: func(h *history.History) {
				h.Operations = append(h.Operations, write(history.Update, object("a", "a1", 80, "x"), 0))
			},
			want: []string{AcknowledgedWrite, Linearizability},
		},
		"an acknowledged deletion is lost": {
			change: func(h *history.History) {
				o := *operation(h, 50)
				o.ID, o.Name, o.Object, o.Call, o.Return = 80, "a", &history.Object{Name: "a", UID: "a1"}, at(80), at(81)
				h.Operations = append(h.Operations, o)
			},
			want: []string{AcknowledgedWrite, Linearizability},
		},
		"a write is answered with the wrong revision": {
			change: func(h *history.History) { operation(h, 30).Object.Revision = 31 },
			want:   []string{AcknowledgedWrite},
		},
		"a write that was refused is stored": {
			change: func(h *history.History) {
				o := operation(h, 30)
				o.Outcome, o.Reason, o.Object = history.Refused, history.Conflict, nil
			},
			want: []string{Linearizability, UnexplainedChange},
		},
		"a write is stored twice": {
			change: func(h *history.History) { h.Changes[3].Object.Value = "v30" },
			want: []string{AcknowledgedWrite, Linearizability, ListSnapshot, LostUpdate, Truth, UnexplainedChange,
				WatchEvent, WatchInitial},
		},
		"an update replaces a revision that its client had not read": {
			change: func(h *history.History) { operation(h, 70).Request.Precondition = 30 },
			want:   []string{Linearizability, LostUpdate},
		},
		"a read returns a replaced state": {
			change: func(h *history.History) { *operation(h, 103).Object = a30 },
			want:   []string{Linearizability, StaleRead},
		},
		"a read returns a state that was never stored": {
			change: func(h *history.History) { operation(h, 103).Object.Value = "other" },
			want:   []string{Linearizability, Truth},
		},
		"a read finds nothing although there is something": {
			change: func(h *history.History) {
				o := operation(h, 103)
				o.Outcome, o.Reason, o.Object = history.Refused, history.NotFound, nil
			},
			want: []string{Linearizability, StaleRead},
		},
		"a read returns a deleted object": {
			change: func(h *history.History) {
				o := operation(h, 104)
				o.Outcome, o.Reason, o.Object = history.OK, "", &b20
			},
			want: []string{Linearizability, StaleRead},
		},
		"a read is older than its resource version": {
			change: func(h *history.History) { *operation(h, 106).Object = a30 },
			want:   []string{StaleRead},
		},
		"reads of the cache go back": {
			change: func(h *history.History) { h.Operations = append(h.Operations, get(120, 77, "0", a10)) },
			want:   []string{Monotonic},
		},
		"lists of the cache go back": {
			change: func(h *history.History) { h.Operations = append(h.Operations, list(120, 79, "0", 40, a40, b20)) },
			want:   []string{Monotonic},
		},
		"a list is of another revision than asked for": {
			change: func(h *history.History) { operation(h, 107).Page = operation(h, 111).Page },
			want:   []string{ListSnapshot},
		},
		"a list is stale": {
			change: func(h *history.History) { operation(h, 111).Request.ResourceVersion = "" },
			want:   []string{StaleRead},
		},
		"a list mixes two revisions": {
			change: func(h *history.History) { operation(h, 112).Page.Items[0] = a40 },
			want:   []string{ListSnapshot},
		},
		"a list lacks an object": {
			change: func(h *history.History) {
				p := operation(h, 112).Page
				p.Items = p.Items[:1]
			},
			want: []string{ListSnapshot},
		},
		"a list contains an object that is not selected": {
			change: func(h *history.History) {
				p := operation(h, 108).Page
				p.Items = append(p.Items, a70)
			},
			want: []string{ListSnapshot},
		},
		"a page is of another revision": {
			change: func(h *history.History) { operation(h, 110).Page.Revision = 71 },
			want:   []string{ListPages},
		},
		"a page repeats an object": {
			change: func(h *history.History) { operation(h, 110).Page.Items[0] = a70 },
			want:   []string{ListPages},
		},
		"the pages end too early": {
			change: func(h *history.History) { operation(h, 110).Page.Items = nil },
			want:   []string{ListPages},
		},
		"a watch leaves an event out": {
			change: func(h *history.History) { e := events(h, 202); *e = slices.Delete(*e, 1, 2) },
			want:   []string{WatchGap},
		},
		"a watch leaves the event before a bookmark out": {
			change: func(h *history.History) { e := events(h, 201); *e = slices.Delete(*e, 2, 3) },
			want:   []string{WatchGap},
		},
		"a watch reports an event twice": {
			change: func(h *history.History) { e := events(h, 201); *e = slices.Insert(*e, 3, (*e)[2]) },
			want:   []string{WatchDuplicate},
		},
		"a watch swaps events": {
			change: func(h *history.History) { e := *events(h, 201); e[1], e[2] = e[2], e[1] },
			want:   []string{WatchOrder},
		},
		"a bookmark is too new": {
			change: func(h *history.History) { (*events(h, 201))[3].Object.Revision = 50 },
			want:   []string{WatchBookmark},
		},
		"a bookmark goes back": {
			change: func(h *history.History) { (*events(h, 201))[3].Object.Revision = 39 },
			want:   []string{WatchOrder},
		},
		"a watch resumes too late": {
			change: func(h *history.History) { e := events(h, 201); *e = (*e)[1:] },
			want:   []string{WatchResume},
		},
		"a watch reports an object that is not selected": {
			change: func(h *history.History) {
				e := events(h, 202)
				*e = slices.Insert(*e, 1, event(history.Added, b20, 20))
			},
			want: []string{WatchFilter},
		},
		"a watch does not report that an object has left the selection": {
			change: func(h *history.History) { e := events(h, 202); *e = slices.Delete(*e, 2, 3) },
			want:   []string{WatchGap},
		},
		"a deleted object is reported with another state": {
			change: func(h *history.History) { (*events(h, 201))[4].Object.Value = "v10" },
			want:   []string{WatchPrevious},
		},
		"an event has the wrong type": {
			change: func(h *history.History) { (*events(h, 201))[1].Type = history.Added },
			want:   []string{WatchEvent},
		},
		"an event is invented": {
			change: func(h *history.History) {
				e := events(h, 201)
				*e = slices.Insert(*e, 1, event(history.Modified, a30, 25))
			},
			want: []string{WatchEvent},
		},
		"the initial events lack an object": {
			change: func(h *history.History) { e := events(h, 203); *e = slices.Delete(*e, 1, 2) },
			want:   []string{WatchInitial},
		},
		"the initial events are stale": {
			change: func(h *history.History) { h.Watches[2].Call = at(52) },
			want:   []string{WatchInitial},
		},
		"an event after the initial ones is left out": {
			change: func(h *history.History) {
				e := events(h, 203)
				*e = append((*e)[:3], event(history.Added, b60, 60))
			},
			want: []string{WatchResume},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := sound()
			test.change(h)
			h.Sort()
			mustViolate(t, h, test.want)
		})
	}
}

// mustViolate fails the test unless exactly these checks fail.
func mustViolate(t *testing.T, h *history.History, want []string) {
	t.Helper()
	violations := Run(h)
	var got []string
	for _, v := range violations {
		got = append(got, v.Check)
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("checks %v failed, want %v: %v", got, want, violations)
	}
}

func TestPicture(t *testing.T) {
	h := sound()
	h.Sort()
	var page bytes.Buffer
	if err := Picture(h, "", false, &page); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "update if 40 -\\u003e 70") {
		t.Errorf("the page does not show the last update of a: %d bytes", page.Len())
	}
}

func TestHistoryIsWritten(t *testing.T) {
	h := restored()
	var file bytes.Buffer
	if err := h.Write(&file); err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(file.String(), "\n")
	got, err := history.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(h.Operations) + len(h.Watches) + len(h.Changes) + len(h.Restores); lines != want {
		t.Errorf("%d lines, want %d", lines, want)
	}
	if violations := Run(got); len(violations) != 0 || len(got.Operations) != len(h.Operations) {
		t.Errorf("after reading it back: %d operations, %v", len(got.Operations), violations)
	}
}
