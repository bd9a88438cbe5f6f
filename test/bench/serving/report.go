package serving

import (
	"fmt"
	"io"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Report is the result of a run.
type Report struct {
	measure.Head
	Measurements []measurement `json:"measurements"`
}

// measurement is what one server did with one request in all rounds.
type measurement struct {
	Request string   `json:"request"`
	Server  string   `json:"server"`
	Rounds  []result `json:"rounds"`
}

func (r *Report) add(request, server string, found result) {
	for i, m := range r.Measurements {
		if m.Request == request && m.Server == server {
			r.Measurements[i].Rounds = append(m.Rounds, found)
			return
		}
	}
	r.Measurements = append(r.Measurements, measurement{Request: request, Server: server, Rounds: []result{found}})
}

// median is the median over the rounds of one of the values.
func (r *Report) median(request, server string, value func(result) float64) float64 {
	var values []float64
	for _, m := range r.Measurements {
		if m.Request != request || m.Server != server {
			continue
		}
		for _, round := range m.Rounds {
			values = append(values, value(round))
		}
	}
	return measure.Median(values)
}

// Markdown writes a table of medians over rounds.
func (r *Report) Markdown(w io.Writer) {
	fmt.Fprint(w, "\n| request | Website, per second | plain nginx, per second | ratio | Website p99 ms | plain nginx "+
		"p99 ms |\n"+
		"|---|--:|--:|--:|--:|--:|\n")
	perSecond, p99 := func(m result) float64 { return m.PerSecond }, func(m result) float64 { return m.P99Millis }
	for _, request := range requests {
		ours, plain := r.median(request.name, website, perSecond), r.median(request.name, plainNginx, perSecond)
		fmt.Fprintf(w, "| %s | %.0f | %.0f | %s | %.2f | %.2f |\n", request.name, ours, plain, measure.Ratio(ours, plain),
			r.median(request.name, website, p99), r.median(request.name, plainNginx, p99))
	}
}
