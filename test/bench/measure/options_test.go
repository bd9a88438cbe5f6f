package measure

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	full := Options{Websites: 1000, Flood: 10, Rounds: 3, Sizes: []int{1, 2}, Duration: time.Second, Targets: []string{}}
	quick := Options{Quick: true, Websites: 100, Flood: 10, Rounds: 1}
	tests := map[string]struct {
		args []string
		want func(Options) bool
		err  string
	}{
		"defaults": {nil, func(o Options) bool { return o.Websites == 1000 && o.Out == "_artifacts/bench" }, ""},
		"quick": {[]string{"--quick", "--rounds=2"},
			func(o Options) bool { return o.Quick && o.Websites == 100 && o.Rounds == 2 }, ""},
		"no flood": {[]string{"--flood=0"}, func(o Options) bool { return o.Flood == 0 }, ""},
		"sizes":    {[]string{"--sizes=5,50"}, func(o Options) bool { return slices.Equal(o.Sizes, []int{5, 50}) }, ""},
		"targets": {[]string{"--target=a, b", "--target=c"},
			func(o Options) bool { return slices.Equal(o.Targets, []string{"a, b", "c"}) }, ""},
		"no rounds":   {[]string{"--rounds=0"}, nil, "--rounds must be at least 1"},
		"descending":  {[]string{"--sizes=2,1"}, nil, "ascending order"},
		"no size":     {[]string{"--sizes=0"}, nil, "ascending order"},
		"no duration": {[]string{"--duration=1ms"}, nil, "--duration must be at least 1s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse("bench", test.args, full, quick)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error = %v, want %q", err, test.err)
				}
				return
			}
			if err != nil || !test.want(got) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
