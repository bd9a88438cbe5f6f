package bench

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
	LoadBefore float64  `json:"loadBefore"`
	LoadAfter  float64  `json:"loadAfter"`
	Targets    []string `json:"targets"`
	// EncodedBytes is the size of one object in a response, by target.
	EncodedBytes map[string]int `json:"encodedBytes"`
	Data         []DataSize     `json:"data"`
	Memory       []Memory       `json:"memory"`
	Measurements []Measurement  `json:"measurements"`
	Goals        []Goal         `json:"goals,omitempty"`
	Comparisons  []Comparison   `json:"comparisons,omitempty"`
	// Failure is why the run has ended early.
	Failure string `json:"failure,omitempty"`
}

// DataSize is what the listed objects take.
type DataSize struct {
	Data    string `json:"data"`
	Objects int    `json:"objects"`
	// StoredBytes is the mean size of an object in etcd.
	StoredBytes int64 `json:"storedBytes"`
	// HeapBytes is what the objects have added to the live heap, by process; ListedHeapBytes is
	// that after they were listed in each format.
	HeapBytes       map[string]int64 `json:"heapBytes"`
	ListedHeapBytes map[string]int64 `json:"listedHeapBytes"`
}

// Memory is the resident memory of each process at the end of a round.
type Memory struct {
	Round     int              `json:"round"`
	Bytes     map[string]int64 `json:"bytes"`
	PeakBytes map[string]int64 `json:"peakBytes"`
}

// find returns a measurement, or nil.
func (r *Report) find(operation, target string) *Measurement {
	for i, m := range r.Measurements {
		if m.Operation == operation && m.Target == target {
			return &r.Measurements[i]
		}
	}
	return nil
}

// operations are in the order in which they were measured.
func (r *Report) operations() []string {
	var names []string
	for _, m := range r.Measurements {
		if len(names) == 0 || names[len(names)-1] != m.Operation {
			names = append(names, m.Operation)
		}
	}
	return names
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
	files := map[string][]byte{"report.json": append(data, '\n')}
	var text strings.Builder
	r.markdown(&text)
	files["report.md"] = []byte(text.String())
	for name, plot := range r.plots() {
		files[name] = []byte(plot)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	return nil
}

func (r *Report) markdown(w io.Writer) {
	o := r.Options
	fmt.Fprintf(w, "# Benchmark\n\n%s, %d CPUs, %s, %.0f s. Rounds: %d. %d requests per operation and round from %d "+
		"clients, %d objects in each of %d namespaces.\n",
		r.Begin.Format(time.DateOnly), r.CPUs, r.Go, r.Seconds, o.Rounds, o.Requests, o.Clients, o.Objects,
		len(dataNamespaces))
	if r.LoadBefore > measure.BusyLoad*float64(r.CPUs) {
		fmt.Fprintf(w, "\n**The machine was busy**: its load average was %.1f before the run. Times contain the work of "+
			"others; ratios of CPU time are the better ones.\n", r.LoadBefore)
	}
	if r.Failure != "" {
		fmt.Fprintf(w, "\n**The run ended early**, and measured what follows: %s\n", r.Failure)
	}
	fmt.Fprintf(w, "\nCompare numbers of this run with each other, never with those of another run. See "+
		"docs/performance.md.\n")
	r.comparisonTable(w)
	r.goalTable(w)
	r.overviewTable(w)
	for _, operation := range r.operations() {
		r.operationTable(w, operation)
	}
	r.sizeTables(w)
}

// overviewTable has all that was measured on one page. docs/performance.md shows some of its
// columns.
func (r *Report) overviewTable(w io.Writer) {
	fmt.Fprintf(w, "\n## CPU time of all servers for each operation, and the median time in brackets, in ms\n\n| | %s "+
		"|\n|---|%s\n", strings.Join(r.Targets, " | "), strings.Repeat("--:|", len(r.Targets)))
	for _, operation := range r.operations() {
		fmt.Fprintf(w, "| %s |", operation)
		for _, target := range r.Targets {
			cell := "–"
			if m := r.find(operation, target); m != nil {
				cell = fmt.Sprintf("%s (%s)", measure.Number(m.CPUMillis), measure.Number(m.MedianMillis))
			}
			fmt.Fprintf(w, " %s |", cell)
		}
		fmt.Fprintln(w)
	}
}

func (r *Report) operationTable(w io.Writer, operation string) {
	fmt.Fprintf(w, "\n## %s\n\n| target | per second | median ms | p99 ms | first byte ms | CPU ms | of which | bytes "+
		"received | time / definition | CPU / definition |\n|---|--:|--:|--:|--:|--:|---|--:|--:|--:|\n", operation)
	base := r.find(operation, definition)
	if base == nil {
		base = &Measurement{}
	}
	for _, target := range r.Targets {
		m := r.find(operation, target)
		if m == nil {
			continue
		}
		first := "–"
		if m.FirstByteMillis > 0 {
			first = measure.Number(m.FirstByteMillis)
		}
		var shares []string
		for _, name := range measure.SortedKeys(m.CPUMillisByProcess) {
			shares = append(shares, name+" "+measure.Number(m.CPUMillisByProcess[name]))
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %.0f | %s | %s |\n", target, measure.Number(m.PerSecond),
			measure.Number(m.MedianMillis), measure.Number(m.P99Millis), first,
			measure.Number(m.CPUMillis), strings.Join(shares, ", "), m.ReceivedBytes,
			measure.Ratio(m.MedianMillis, base.MedianMillis), measure.Ratio(m.CPUMillis, base.CPUMillis))
	}
}

func (r *Report) sizeTables(w io.Writer) {
	fmt.Fprint(w, "\n## Encoded size of an object\n\n| target | bytes |\n|---|--:|\n")
	for _, target := range r.Targets {
		fmt.Fprintf(w, "| %s | %d |\n", target, r.EncodedBytes[target])
	}
	fmt.Fprint(w, "\n## What objects take\n\n| objects | number | bytes in etcd, each | live heap added | after lists "+
		"|\n|---|--:|--:|---|---|\n")
	for _, d := range r.Data {
		fmt.Fprintf(w, "| %s | %d | %d | %s | %s |\n", d.Data, d.Objects, d.StoredBytes, heapText(d.HeapBytes),
			heapText(d.ListedHeapBytes))
	}
	fmt.Fprint(w, "\n## Resident memory at the end of each round (peak)\n\n")
	if len(r.Memory) == 0 {
		return
	}
	names := measure.SortedKeys(r.Memory[0].Bytes)
	fmt.Fprintf(w, "| round | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("--:|", len(names)))
	for _, m := range r.Memory {
		fmt.Fprintf(w, "| %d |", m.Round)
		for _, name := range names {
			fmt.Fprintf(w, " %s (%s) |", measure.Mebibytes(m.Bytes[name]), measure.Mebibytes(m.PeakBytes[name]))
		}
		fmt.Fprintln(w)
	}
}

func heapText(heaps map[string]int64) string {
	var texts []string
	for _, name := range measure.SortedKeys(heaps) {
		texts = append(texts, name+" "+measure.Mebibytes(heaps[name]))
	}
	return strings.Join(texts, ", ")
}
