package growth

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Options are the sizes of a run.
type Options struct {
	// Sizes are the numbers of Websites at which all is measured, in ascending order.
	Sizes Sizes `json:"sizes"`
	// PerNamespace is the number of Websites in each namespace.
	PerNamespace int `json:"perNamespace"`
	// Clients is the number of concurrent clients that create Websites.
	Clients int `json:"clients"`
	// Changes is the number of changes whose events are measured, Lists that of the lists.
	Changes int `json:"changes"`
	Lists   int `json:"lists"`
	// Progress receives a line per step.
	Progress io.Writer `json:"-"`
}

// Defaults are the sizes of "make bench-growth".
func Defaults() Options {
	return Options{Sizes: Sizes{1000, 10000, 50000, 100000}, PerNamespace: 1000, Clients: 16, Changes: 100, Lists: 3}
}

func (o Options) validate() error {
	if o.PerNamespace < 1 || o.Clients < 1 || o.Changes < 1 || o.Lists < 1 || len(o.Sizes) == 0 || o.Sizes[0] < 1 {
		return errors.New("all sizes must be at least 1")
	}
	if !slices.IsSorted(o.Sizes) || len(slices.Compact(slices.Clone(o.Sizes))) < len(o.Sizes) {
		return fmt.Errorf("the numbers of Websites must be in ascending order, not %s", o.Sizes.String())
	}
	return nil
}

// Sizes is a flag with numbers that are separated by commas.
type Sizes []int

// String returns the value as the flag takes it.
func (s *Sizes) String() string {
	values := make([]string, len(*s))
	for i, size := range *s {
		values[i] = strconv.Itoa(size)
	}
	return strings.Join(values, ",")
}

// Set replaces the value. It returns an error for what is not a number.
func (s *Sizes) Set(value string) error {
	*s = nil
	for field := range strings.SplitSeq(value, ",") {
		size, err := strconv.Atoi(field)
		if err != nil {
			return fmt.Errorf("%q is not a number of Websites", field)
		}
		*s = append(*s, size)
	}
	return nil
}
