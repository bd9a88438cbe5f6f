package website

import (
	"slices"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

func TestWarnings(t *testing.T) {
	noPods := func(w *website.Website) { w.Spec.Replicas = ptr.To[int32](0) }
	const (
		offline = "spec.replicas: 0 takes the site offline"
		altered = ": http:// is not encrypted, so the site can be altered on its way; use https:// or ssh://"
	)
	plain := repository("http://example.com/site.git")
	tests := map[string]struct {
		version string
		tweak   func(*website.Website)
		want    []string
	}{
		"nothing to say": {version: "v1beta1", tweak: func(*website.Website) {}},
		"unencrypted": {version: "v1beta1", tweak: plain,
			want: []string{"spec.source.git.repository" + altered}},
		"unencrypted in v1alpha1": {version: "v1alpha1", tweak: plain, want: []string{"spec.gitRepo" + altered}},
		"no pods":                 {version: "v1beta1", tweak: noPods, want: []string{offline}},
		"no pods in v1alpha1":     {version: "v1alpha1", tweak: noPods, want: []string{offline}},
		"no pods of a suspended site": {version: "v1beta1",
			tweak: tweaks(noPods, func(w *website.Website) { w.Spec.Suspend = new(true) })},
		"no pods from a plain place": {version: "v1beta1", tweak: tweaks(noPods, plain),
			want: []string{"spec.source.git.repository" + altered, offline}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			strategy, ctx := newStrategy(t), requestContext(test.version, "")
			if got := strategy.WarningsOnCreate(ctx, newWebsite(test.tweak)); !slices.Equal(got, test.want) {
				t.Errorf("on creation: %q, want %q", got, test.want)
			}
			if got := strategy.WarningsOnUpdate(ctx, newWebsite(test.tweak), newWebsite()); !slices.Equal(got, test.want) {
				t.Errorf("on update: %q, want %q", got, test.want)
			}
			labelled := newWebsite(test.tweak, func(w *website.Website) { w.Labels["team"] = "red" })
			if got := strategy.WarningsOnUpdate(ctx, labelled, newWebsite(test.tweak)); len(got) != 0 {
				t.Errorf("when the spec stays: %q, want nothing", got)
			}
			if got := NewStatusStrategy(strategy).WarningsOnUpdate(ctx, newWebsite(test.tweak), newWebsite()); len(got) != 0 {
				t.Errorf("on a status update: %q, want nothing", got)
			}
		})
	}
}

// TestFinalizerWarnings: Kubernetes' own finalizers and those with a domain draw no warning, nor
// does an unchanged one.
func TestFinalizerWarnings(t *testing.T) {
	finalized := func(finalizers ...string) *website.Website {
		return newWebsite(func(w *website.Website) { w.Finalizers = finalizers })
	}
	strategy, ctx := newStrategy(t), requestContext("v1beta1", "")
	const want = `metadata.finalizers: "x": prefer a domain-qualified finalizer name, such as example.com/x, to avoid ` +
		`accidental conflicts with other finalizer writers`
	created := strategy.WarningsOnCreate(ctx, finalized("example.com/a", "orphan", "foregroundDeletion", "x"))
	if !slices.Equal(created, []string{want}) {
		t.Errorf("on creation: %q, want %q", created, want)
	}
	if got := strategy.WarningsOnUpdate(ctx, finalized("x"), finalized()); !slices.Equal(got, []string{want}) {
		t.Errorf("on update: %q, want %q", got, want)
	}
	if got := strategy.WarningsOnUpdate(ctx, finalized("x"), finalized("x")); len(got) > 0 {
		t.Errorf("when it stays: %q, want nothing", got)
	}
}
