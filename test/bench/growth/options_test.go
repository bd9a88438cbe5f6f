package growth

import (
	"slices"
	"strings"
	"testing"
)

func TestSizes(t *testing.T) {
	tests := map[string]struct {
		value string
		want  Sizes
		err   string
	}{
		"one":     {"1000", Sizes{1000}, ""},
		"several": {"1000,50000", Sizes{1000, 50000}, ""},
		"none":    {"", nil, `"" is not a number`},
		"a unit":  {"1k", nil, `"1k" is not a number`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got Sizes
			err := got.Set(test.value)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error = %v, want %q", err, test.err)
				}
				return
			}
			if err != nil || !slices.Equal(got, test.want) || got.String() != test.value {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	if err := Defaults().validate(); err != nil {
		t.Error(err)
	}
	tests := map[string]func(*Options){
		"no sizes":   func(o *Options) { o.Sizes = nil },
		"descending": func(o *Options) { o.Sizes = Sizes{2, 1} },
		"no lists":   func(o *Options) { o.Lists = 0 },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			o := Defaults()
			change(&o)
			if o.validate() == nil {
				t.Error("no error")
			}
		})
	}
}
