package controller

import (
	"fmt"
	"io"
	"strings"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Report is the result of a run.
type Report struct {
	measure.Head
	Measurements []Measurement `json:"measurements"`
}

// find returns a measurement, or nil.
func (r *Report) find(scenario, contender string) *Measurement {
	for i, m := range r.Measurements {
		if m.Scenario == scenario && m.Contender == contender {
			return &r.Measurements[i]
		}
	}
	return nil
}

// Markdown writes the tables of each scenario.
func (r *Report) Markdown(w io.Writer) {
	for _, scenario := range allScenarios() {
		r.scenarioTables(w, scenario)
	}
}

func (r *Report) scenarioTables(w io.Writer, scenario string) {
	var rows []Measurement
	for _, m := range r.Measurements {
		if m.Scenario == scenario {
			rows = append(rows, m)
		}
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n## %s\n\n| | seconds | each round | ready ms: median | p99 | reported ms: median | p99 | requests "+
		"| writes | CPU s of controller | of API servers and etcd | heap per Website | resident "+
		"|\n|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n", scenario)
	for _, m := range rows {
		var rounds []string
		for _, seconds := range m.RoundSeconds {
			rounds = append(rounds, measure.Number(seconds))
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", m.Contender,
			measure.Number(m.Seconds), strings.Join(rounds, ", "),
			millis(m.ReadyMillis.Median), millis(m.ReadyMillis.P99), millis(m.ReportedMillis.Median),
			millis(m.ReportedMillis.P99),
			count(m.allCalls()), count(m.allWrites()), measure.Number(m.CPUSeconds[controllerProcess]),
			measure.Number(m.serverCPU()),
			kibibytes(m.HeapBytes), kibibytes(m.ResidentBytes))
	}
	fmt.Fprint(w, "\n| | requests by verb | writes by resource |\n|---|---|---|\n")
	for _, m := range rows {
		if len(m.Calls) > 0 {
			fmt.Fprintf(w, "| %s | %s | %s |\n", m.Contender, list(m.Calls), list(m.Writes))
		}
	}
}

func millis(value float64) string {
	if value == 0 {
		return "–"
	}
	return measure.Number(value)
}

func count(value float64) string { return fmt.Sprintf("%.0f", value) }

func kibibytes(bytes float64) string {
	if bytes == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f KiB", bytes/1024)
}

func list(counts map[string]float64) string {
	var parts []string
	for _, key := range measure.SortedKeys(counts) {
		parts = append(parts, key+" "+count(counts[key]))
	}
	return strings.Join(parts, ", ")
}
