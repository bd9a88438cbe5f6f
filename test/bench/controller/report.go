package controller

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Report is the result of a run. Its numbers are comparable with each other only.
type Report struct {
	Options Options `json:"options"`
	CPUs    int     `json:"cpus"`
	Go      string  `json:"go"`
	// Begin and Seconds are when the run began and how long it took.
	Begin   time.Time `json:"begin"`
	Seconds float64   `json:"seconds"`
	// LoadBefore and LoadAfter are the load average of the machine. Before the run it is
	// that of others.
	LoadBefore   float64       `json:"loadBefore"`
	LoadAfter    float64       `json:"loadAfter"`
	Measurements []Measurement `json:"measurements"`
	Goals        []Goal        `json:"goals"`
	// Failure is why the run has ended early.
	Failure string `json:"failure,omitempty"`
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

// Write writes the report to a directory: report.json, report.md and the plots.
func (r *Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating the directory of the report: %w", err)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	var text strings.Builder
	r.markdown(&text)
	files := map[string]string{"report.json": string(data) + "\n", "report.md": text.String()}
	for name, plot := range r.plots() {
		files[name] = plot
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	return nil
}

func (r *Report) markdown(w io.Writer) {
	o := r.Options
	fmt.Fprintf(w, "# Benchmark of the controller\n\n%s, %d CPUs, %s, %.0f s. Rounds: %d. %d Websites at once, then %d, "+
		"with %d replicas. %d changes/s, or %d of one Website, for %s.\n",
		r.Begin.Format(time.DateOnly), r.CPUs, r.Go, r.Seconds, o.Rounds, o.Websites, o.Flood, o.Replicas, o.ChangesPerSecond,
		o.HotPerSecond, o.Duration)
	if r.LoadBefore > measure.BusyLoad*float64(r.CPUs) {
		fmt.Fprintf(w, "\n**The machine was busy**: its load average was %.1f before the run. Times contain the work of "+
			"others; ratios of CPU time and requests are the better ones.\n", r.LoadBefore)
	}
	if r.Failure != "" {
		fmt.Fprintf(w, "\n**The run ended early**, and measured what follows: %s\n", r.Failure)
	}
	fmt.Fprint(w, "\nCompare numbers of this run with each other, never with those of another run. See "+
		"docs/performance.md.\n")
	r.goalTable(w)
	for _, scenario := range allScenarios() {
		r.scenarioTables(w, scenario)
	}
}

func (r *Report) goalTable(w io.Writer) {
	if len(r.Goals) == 0 {
		return
	}
	fmt.Fprint(w, "\n## Goals of website-controller\n\n| goal | value | at most | |\n|---|--:|--:|---|\n")
	for _, g := range r.Goals {
		verdict := "missed"
		if g.Held {
			verdict = "held"
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", g.Name, measure.Number(g.Value), measure.Number(g.Limit), verdict)
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

// plots returns SVG files by name.
func (r *Report) plots() map[string]string {
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
			plots["controller-"+metric.name+".svg"] = measure.SVG("controller: "+metric.title, panels, colour)
		}
	}
	return plots
}

// colour tells contenders apart.
func colour(contender string) string {
	return map[string]string{floor: "#999999", product: "#0072b2", scaffold: "#d55e00", tuned: "#e69f00"}[contender]
}
