package growth

import (
	"fmt"
	"io"
	"strings"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Report is the result of a run.
type Report struct {
	measure.Head
	Stages []Stage `json:"stages"`
}

// Stage has the results with a number of Websites. CPU is the sum of kube-apiserver,
// website-apiserver and etcd.
type Stage struct {
	Websites int `json:"websites"`
	// Values are in the same order in each stage.
	Values []Value `json:"values"`
}

// Value is one measurement. Sizes are in bytes.
type Value struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	IsSize bool    `json:"isSize,omitempty"`
}

func (v Value) String() string {
	if v.IsSize {
		return measure.Mebibytes(int64(v.Value))
	}
	return measure.Number(v.Value)
}

func (s *Stage) add(name string, value float64) {
	s.Values = append(s.Values, Value{Name: name, Value: value})
}

func (s *Stage) addSize(name string, bytes int64) {
	s.Values = append(s.Values, Value{Name: name, Value: float64(bytes), IsSize: true})
}

// Markdown writes a column for each stage.
func (r *Report) Markdown(w io.Writer) {
	if len(r.Stages) == 0 {
		return
	}
	fmt.Fprint(w, "\n| Websites |")
	for _, stage := range r.Stages {
		fmt.Fprintf(w, " %d |", stage.Websites)
	}
	fmt.Fprint(w, "\n|---|"+strings.Repeat("--:|", len(r.Stages))+"\n")
	for i, value := range r.Stages[0].Values {
		fmt.Fprintf(w, "| %s |", value.Name)
		for _, stage := range r.Stages {
			fmt.Fprintf(w, " %s |", stage.Values[i])
		}
		fmt.Fprintln(w)
	}
}
