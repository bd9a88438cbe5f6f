package bench

import (
	"slices"
	"testing"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

func TestSelectedTargets(t *testing.T) {
	tests := map[string]struct {
		options   measure.Options
		want      []string
		populates []string
		fails     bool
	}{
		"all": {want: []string{"a JSON", "a direct", "b JSON", "no lists"}, populates: []string{"a JSON", "b JSON"}},
		"quick": {options: measure.Options{Quick: true}, want: []string{"a JSON", "b JSON", "no lists"},
			populates: []string{"a JSON", "b JSON"}},
		"one": {options: measure.Options{Targets: []string{"a direct"}}, want: []string{"a direct"},
			populates: []string{"a direct"}},
		"several": {options: measure.Options{Targets: []string{"b JSON", "a JSON"}}, want: []string{"a JSON", "b JSON"},
			populates: []string{"a JSON", "b JSON"}},
		"an unknown one":  {options: measure.Options{Targets: []string{"a JSON", "c"}}, fails: true},
		"left out, quick": {options: measure.Options{Quick: true, Targets: []string{"a direct"}}, fails: true},
		"one, named twice": {options: measure.Options{Targets: []string{"b JSON", "b JSON"}}, want: []string{"b JSON"},
			populates: []string{"b JSON"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			targets, err := selected([]*target{{name: "a JSON", data: "a"}, {name: "a direct", data: "a", secondary: true},
				{name: "b JSON", data: "b"}, {name: "no lists"}}, test.options)
			var names, populates []string
			for _, target := range targets {
				names = append(names, target.name)
				if target.populates {
					populates = append(populates, target.name)
				}
			}
			if (err != nil) != test.fails || !slices.Equal(names, test.want) || !slices.Equal(populates, test.populates) {
				t.Errorf("selected %q, of which %q create objects (%v); want %q and %q", names, populates, err, test.want,
					test.populates)
			}
		})
	}
}
