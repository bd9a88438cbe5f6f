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

// Plots returns SVG files by name.
func (r *Report) Plots() map[string]string {
	plots := map[string]string{}
	for _, metric := range []struct {
		name, title string
		value       func(*Measurement) float64
	}{
		{"time", "seconds until all are Ready, or reconciled", func(m *Measurement) float64 { return m.Seconds }},
		{"requests", "requests of the controller", (*Measurement).allCalls},
		{"cpu", "CPU time of the controller, s", func(m *Measurement) float64 { return m.CPUSeconds[controllerProcess] }},
	} {
		var panels []measure.Panel
		for _, scenario := range allScenarios() {
			p := measure.Panel{Title: scenario}
			for _, contender := range allContenders() {
				if m := r.find(scenario, contender); m != nil && (metric.name == "time" || contender != floor) {
					p.Bars = append(p.Bars, measure.Bar{Label: contender, Value: metric.value(m)})
				}
			}
			if len(p.Bars) > 0 {
				panels = append(panels, p)
			}
		}
		if len(panels) > 0 {
			plots["controller-"+metric.name+".svg"] = measure.SVG("controller: "+metric.title, panels, colours.Of)
		}
	}
	return plots
}

var colours = measure.Colours{floor: "#999999", product: "#0072b2", scaffold: "#d55e00", tuned: "#e69f00"}
