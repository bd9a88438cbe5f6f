package serving

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Report is the result of a run. Its numbers are comparable with each other only.
type Report struct {
	Options      Options       `json:"options"`
	Begin        time.Time     `json:"begin"`
	Measurements []measurement `json:"measurements"`
	// Failure is why the run has ended early.
	Failure string `json:"failure,omitempty"`
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

// Write writes report.json and report.md to a directory, and returns the latter's text.
func (r *Report) Write(dir string) (markdown string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("creating the directory of the report: %w", err)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encoding the report: %w", err)
	}
	markdown = r.markdown()
	for name, content := range map[string]string{"report.json": string(data) + "\n", "report.md": markdown} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return "", fmt.Errorf("writing the report: %w", err)
		}
	}
	return markdown, nil
}

func (r *Report) markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "# Serving pages\n\n%s. Medians of %d rounds of %s, %d connections.\n\n| request | Website, per "+
		"second | plain nginx, per second | ratio | Website p99 ms | plain nginx p99 ms |\n|---|--:|--:|--:|--:|--:|\n",
		r.Begin.Format(time.DateOnly), r.Options.Rounds, r.Options.Duration, r.Options.Connections)
	perSecond, p99 := func(m result) float64 { return m.PerSecond }, func(m result) float64 { return m.P99Millis }
	for _, request := range requests {
		ours, plain := r.median(request.name, website, perSecond), r.median(request.name, plainNginx, perSecond)
		fmt.Fprintf(&text, "| %s | %.0f | %.0f | %s | %.2f | %.2f |\n", request.name, ours, plain, measure.Ratio(ours, plain),
			r.median(request.name, website, p99), r.median(request.name, plainNginx, p99))
	}
	if r.Failure != "" {
		fmt.Fprintf(&text, "\n**The run ended early**, and measured what precedes: %s\n", r.Failure)
	}
	return text.String()
}
