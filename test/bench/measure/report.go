package measure

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Report is the result of a run. Its numbers are comparable with each other only.
type Report interface {
	// Common is the head of all reports.
	Common() *Head
	// Missed names results that need attention, such as goals that are not held.
	Missed() []string
	// Markdown writes the results.
	Markdown(w io.Writer)
	// Plots are SVG files by name.
	Plots() map[string]string
}

// Head is what all reports have.
type Head struct {
	Options Options `json:"options"`
	CPUs    int     `json:"cpus"`
	Go      string  `json:"go"`
	// Begin and Seconds are when the run began and how long it took.
	Begin   time.Time `json:"begin"`
	Seconds float64   `json:"seconds"`
	// LoadBefore and LoadAfter are the load average of the machine. Before the run it is
	// the load of others.
	LoadBefore float64 `json:"loadBefore"`
	LoadAfter  float64 `json:"loadAfter"`
	Goals      []Goal  `json:"goals,omitempty"`
	// Failure is why the run has ended early.
	Failure string `json:"failure,omitempty"`
}

// Common returns the head.
func (h *Head) Common() *Head { return h }

// Plots are none.
func (*Head) Plots() map[string]string { return nil }

// Goal is what measurements are compared with.
type Goal struct {
	Name string `json:"name"`
	// Limit is the most that each value may be, or the least.
	Limit   float64   `json:"limit"`
	AtLeast bool      `json:"atLeast,omitempty"`
	Values  []float64 `json:"values"`
	Held    bool      `json:"held"`
}

// AddGoal adds a goal with at least one value.
func (h *Head) AddGoal(goal Goal) {
	goal.Held = slices.Max(goal.Values) <= goal.Limit
	if goal.AtLeast {
		goal.Held = slices.Min(goal.Values) >= goal.Limit
	}
	h.Goals = append(h.Goals, goal)
}

// cells are the limit and the values.
func (g Goal) cells() string {
	limit := "≤"
	if g.AtLeast {
		limit = "≥"
	}
	values := make([]string, len(g.Values))
	for i, value := range g.Values {
		values[i] = Number(value)
	}
	return fmt.Sprintf("%s %s | %s", limit, Number(g.Limit), strings.Join(values, ", "))
}

// Missed names the goals that are not held.
func (h *Head) Missed() []string {
	var missed []string
	for _, g := range h.Goals {
		if !g.Held {
			missed = append(missed, g.Name+": "+g.cells())
		}
	}
	return missed
}

// Write writes the report to a directory: report.json, report.md and the plots.
func Write(r Report, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating the directory of the report: %w", err)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	files := map[string]string{"report.json": string(data) + "\n", "report.md": Markdown(r)}
	for name, plot := range r.Plots() {
		files[name] = plot
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	return nil
}

// Markdown returns the text of a report.
func Markdown(r Report) string {
	var w strings.Builder
	h := r.Common()
	sizes, err := json.Marshal(h.Options)
	if err != nil {
		sizes = []byte(err.Error())
	}
	fmt.Fprintf(&w, "# Benchmark\n\n%s, %d CPUs, %s, %.0f s, load average %.1f before and %.1f after. Sizes: `%s`.\n",
		h.Begin.Format(time.DateOnly), h.CPUs, h.Go, h.Seconds, h.LoadBefore, h.LoadAfter, sizes)
	if h.LoadBefore > BusyLoad*float64(h.CPUs) {
		fmt.Fprintf(&w, "\n**The machine was busy**: its load average was %.1f before the run. Times contain the work of "+
			"others; CPU time, memory and requests are the better ones.\n", h.LoadBefore)
	}
	if h.Failure != "" {
		fmt.Fprintf(&w, "\n**The run ended early**, and measured what follows: %s\n", h.Failure)
	}
	fmt.Fprint(&w, "\nCompare numbers of this run with each other, never with those of another run. See "+
		"docs/performance.md.\n")
	if len(h.Goals) > 0 {
		fmt.Fprint(&w, "\n## Goals\n\n| goal | limit | measured | holds |\n|---|--:|--:|---|\n")
	}
	for _, g := range h.Goals {
		holds := "no"
		if g.Held {
			holds = "yes"
		}
		fmt.Fprintf(&w, "| %s | %s | %s |\n", g.Name, g.cells(), holds)
	}
	r.Markdown(&w)
	return w.String()
}
