package bench

import (
	"fmt"
	"io"
	"strings"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Report is the result of a run.
type Report struct {
	measure.Head
	Targets []string `json:"targets"`
	// EncodedBytes is the size of one object in a response, by target.
	EncodedBytes map[string]int `json:"encodedBytes"`
	Data         []DataSize     `json:"data"`
	Memory       []Memory       `json:"memory"`
	Measurements []Measurement  `json:"measurements"`
	Comparisons  []Comparison   `json:"comparisons,omitempty"`
}

// DataSize is the memory of the listed objects.
type DataSize struct {
	Data    string `json:"data"`
	Objects int    `json:"objects"`
	// StoredBytes is the mean size of an object in etcd.
	StoredBytes int64 `json:"storedBytes"`
	// HeapBytes is the growth of the live heap by the objects, by process; ListedHeapBytes is
	// the growth after they were listed in each format.
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

// Markdown writes all tables.
func (r *Report) Markdown(w io.Writer) {
	fmt.Fprint(w, "\nGoals are ratios to the definition, but where they say otherwise; of lists: of one "+
		"namespace, of all, "+
		"and both consistent.\n")
	r.comparisonTable(w)
	r.overviewTable(w)
	for _, operation := range r.operations() {
		r.operationTable(w, operation)
	}
	r.sizeTables(w)
}

// Missed names the ratios that are not in their ranges.
func (r *Report) Missed() []string {
	var missed []string
	for _, c := range r.Comparisons {
		if c.Verdict != Within {
			missed = append(missed, fmt.Sprintf("%s: %s", c.Verdict, c))
		}
	}
	return missed
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
