package website

import (
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestPinOfSuspendedWebsites changes Websites with A as the last published commit.
func TestPinOfSuspendedWebsites(t *testing.T) {
	type tweak = func(*website.Website)
	suspend := func(value bool) tweak { return func(w *website.Website) { w.Spec.Suspend = &value } }
	notSuspend := func(w *website.Website) { w.Spec.Suspend = nil }
	pin := func(commit string, cause v1beta1.PinCause) tweak {
		return func(w *website.Website) { w.Spec.Pin = &v1beta1.WebsitePin{Commit: commit, Cause: cause} }
	}
	noPin := func(w *website.Website) { w.Spec.Pin = nil }
	noPods := func(w *website.Website) { w.Status.Commit = "" }
	unpublished := func(w *website.Website) { w.Status = v1beta1.WebsiteStatus{} }
	scale := func(w *website.Website) { w.Spec.Replicas = new(int32(7)) }
	bySuspend := v1beta1.PinCauseSuspend
	suspendedOnA, suspendedOnB := tweaks(suspend(true), pin(commitA, bySuspend)),
		tweaks(suspend(true), pin(commitB, bySuspend))
	tests := map[string]struct {
		stored, change tweak
		want           *v1beta1.WebsitePin
		// isSame is set if the spec does not change.
		isSame bool
	}{
		"suspended": {change: suspend(true),
			want: &v1beta1.WebsitePin{Commit: commitA, Cause: bySuspend}},
		"suspended while no pod is ready": {stored: noPods, change: suspend(true),
			want: &v1beta1.WebsitePin{Commit: commitA, Cause: bySuspend}},
		"suspended before it was published": {stored: unpublished, change: suspend(true)},
		"changed, suspended before it was published": {stored: suspend(true), change: scale,
			want: &v1beta1.WebsitePin{Commit: commitA, Cause: bySuspend}},
		"only labels, suspended before it was published": {stored: suspend(true), isSame: true,
			change: func(w *website.Website) { w.Labels = map[string]string{"a": "b"} }},
		"suspended, pinned by the user": {stored: pin(commitB, ""), change: suspend(true),
			want: &v1beta1.WebsitePin{Commit: commitB}},
		"suspended and pinned at once": {change: tweaks(suspend(true), pin(commitB, "")),
			want: &v1beta1.WebsitePin{Commit: commitB}},
		"suspended, the user's pin is removed": {stored: pin(commitB, ""), change: tweaks(suspend(true), noPin),
			want: &v1beta1.WebsitePin{Commit: commitA, Cause: bySuspend}},
		"an export of a suspended Website": {change: suspendedOnB,
			want: &v1beta1.WebsitePin{Commit: commitB, Cause: bySuspend}},

		"resumed":                     {stored: suspendedOnB, change: suspend(false)},
		"resumed by removing suspend": {stored: suspendedOnB, change: notSuspend},
		"resumed, pinned by the user": {stored: tweaks(suspend(true), pin(commitB, "")), change: notSuspend,
			want: &v1beta1.WebsitePin{Commit: commitB}},
		"resumed and pinned by a patch": {stored: suspendedOnA, change: tweaks(notSuspend, pin(commitB, bySuspend)),
			want: &v1beta1.WebsitePin{Commit: commitB}},
		"not suspended, with the server's pin": {change: pin(commitB, bySuspend), isSame: true},

		"replaced by a manifest without pin": {stored: suspendedOnB, change: noPin,
			want: &v1beta1.WebsitePin{Commit: commitB, Cause: bySuspend}, isSame: true},
		"the commit is patched": {stored: suspendedOnB, change: pin(commitA, bySuspend),
			want: &v1beta1.WebsitePin{Commit: commitA}},
		"the user pins another commit": {stored: suspendedOnB, change: pin(commitA, ""),
			want: &v1beta1.WebsitePin{Commit: commitA}},
		"the user takes the pin over": {stored: suspendedOnB, change: pin(commitB, ""),
			want: &v1beta1.WebsitePin{Commit: commitB}},
		"the user's pin is removed meanwhile": {stored: tweaks(suspend(true), pin(commitB, "")), change: noPin,
			want: &v1beta1.WebsitePin{Commit: commitA, Cause: bySuspend}},
		"it never was published": {stored: tweaks(suspend(true), pin(commitB, ""), unpublished), change: noPin,
			want: &v1beta1.WebsitePin{Commit: commitB, Cause: bySuspend}},
		"scaled": {stored: suspendedOnB, change: scale, want: &v1beta1.WebsitePin{Commit: commitB, Cause: bySuspend}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			old := newWebsite(func(w *website.Website) {
				w.Generation, w.Status.Commit = 4, commitA
				w.Status.History = []v1beta1.WebsiteRelease{{Commit: commitA}, {Commit: commitB}}
			})
			if test.stored != nil {
				test.stored(old)
			}
			stored, updated := old.DeepCopy(), old.DeepCopy()
			test.change(updated)
			newStrategy(t).PrepareForUpdate(requestContext("v1beta1", ""), updated, old)
			if got, want := pinString(updated.Spec.Pin), pinString(test.want); got != want {
				t.Errorf("pin = %s, want %s", got, want)
			}
			if isSame := updated.Generation == 4; isSame != test.isSame {
				t.Errorf("generation %d after 4, want another one: %t", updated.Generation, !test.isSame)
			}
			if got, want := pinString(old.Spec.Pin), pinString(stored.Spec.Pin); got != want {
				t.Errorf("the stored Website was changed: pin %s, was %s", got, want)
			}
		})
	}
}

// TestCreateSuspended: a Website that is restored from an export keeps its pin.
func TestCreateSuspended(t *testing.T) {
	pin := &v1beta1.WebsitePin{Commit: commitA, Cause: v1beta1.PinCauseSuspend}
	for name, test := range map[string]struct {
		suspend *bool
		pin     *v1beta1.WebsitePin
		want    *v1beta1.WebsitePin
	}{
		"new":          {suspend: new(true)},
		"exported":     {suspend: new(true), pin: pin, want: pin},
		"resumed":      {suspend: new(false), pin: pin},
		"pinned":       {pin: &v1beta1.WebsitePin{Commit: commitA}, want: &v1beta1.WebsitePin{Commit: commitA}},
		"without both": {},
	} {
		w := newWebsite(func(w *website.Website) { w.Spec.Suspend, w.Spec.Pin = test.suspend, test.pin })
		newStrategy(t).PrepareForCreate(requestContext("v1beta1", ""), w)
		if got, want := pinString(w.Spec.Pin), pinString(test.want); got != want {
			t.Errorf("%s: pin = %s, want %s", name, got, want)
		}
	}
}

func pinString(pin *v1beta1.WebsitePin) string {
	if pin == nil {
		return "none"
	}
	return pin.Commit + " by " + string(pin.Cause)
}
