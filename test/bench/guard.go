package bench

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
)

// Range has the bounds of a ratio of two measurements of a quick run. Ranges are wide, because
// few requests on a busy machine scatter.
type Range struct {
	Operation string `json:"operation"`
	// Metric is time (median), p99, firstByte, perSecond, cpu or bytes (of the body). Of the listed objects, without
	// an operation, it is stored (bytes in etcd), heap, or listedHeap (after lists).
	Metric  string `json:"metric"`
	Target  string `json:"target"`
	Against string `json:"against"`
	// Min and Max are the lowest and highest ratio of Target to Against.
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// Verdict says where a ratio is.
type Verdict string

const (
	// Within means that nothing has changed.
	Within Verdict = "within"
	// Worse means that the ratio is above the range, or was not measured.
	Worse Verdict = "worse"
	// Better means that the ratio is below the range, which can be lowered.
	Better Verdict = "better"
)

// Comparison is the result of a Range.
type Comparison struct {
	Range
	Ratio   float64 `json:"ratio"`
	Verdict Verdict `json:"verdict"`
}

//go:embed ranges.json
var committedRanges []byte

// Ranges are the committed ranges, for the sizes of Quick.
func Ranges() ([]Range, error) {
	var ranges []Range
	if err := json.Unmarshal(committedRanges, &ranges); err != nil {
		return nil, fmt.Errorf("decoding ranges.json: %w", err)
	}
	return ranges, nil
}

// value returns a metric of a measurement or, without an operation, of the objects of that name; 0 if
// there is none.
func (r *Report) value(operation, metric, name string) float64 {
	if m := r.find(operation, name); m != nil {
		return map[string]float64{
			"time": m.MedianMillis, "p99": m.P99Millis, "firstByte": m.FirstByteMillis, "perSecond": m.PerSecond,
			"cpu": m.CPUMillis, "bytes": m.BodyBytes,
		}[metric]
	}
	for _, d := range r.Data {
		if operation == "" && d.Data == name {
			return map[string]float64{"stored": float64(d.StoredBytes), "heap": sum(d.HeapBytes),
				"listedHeap": sum(d.ListedHeapBytes)}[metric]
		}
	}
	return 0
}

// ratio returns the ratio of a metric of two targets, or of two sorts of objects; 0 if it was not measured.
func (r *Report) ratio(operation, metric, target, against string) float64 {
	value, base := r.value(operation, metric, target), r.value(operation, metric, against)
	if value <= 0 || base <= 0 {
		return 0
	}
	return value / base
}

// sum is what all processes take.
func sum(heaps map[string]int64) float64 {
	var total int64
	for _, bytes := range heaps {
		total += bytes
	}
	return float64(total)
}

// Compare compares ratios with ranges, and returns the number of those that are worse.
func (r *Report) Compare(ranges []Range) (worse int) {
	r.Comparisons = nil
	for _, allowed := range ranges {
		c := Comparison{Range: allowed, Verdict: Worse, Ratio: r.ratio(allowed.Operation, allowed.Metric, allowed.Target,
			allowed.Against)}
		switch {
		case c.Ratio == 0:
		case c.Ratio < allowed.Min:
			c.Verdict = Better
		case c.Ratio <= allowed.Max:
			c.Verdict = Within
		}
		if c.Verdict == Worse {
			worse++
		}
		r.Comparisons = append(r.Comparisons, c)
	}
	return worse
}

// String names the compared targets.
func (c Comparison) String() string {
	if c.Ratio == 0 {
		return fmt.Sprintf("%s of %q: %s was not measured beside %s", c.Metric, c.Operation, c.Target, c.Against)
	}
	if c.Operation == "" {
		return fmt.Sprintf("%s: %s take %.2f of %s, the range is %.2f to %.2f", c.Metric, c.Target, c.Ratio,
			c.Against, c.Min, c.Max)
	}
	return fmt.Sprintf("%s of %q: %s takes %.2f of %s, the range is %.2f to %.2f", c.Metric, c.Operation, c.Target,
		c.Ratio, c.Against, c.Min, c.Max)
}

func (r *Report) comparisonTable(w io.Writer) {
	if len(r.Comparisons) == 0 {
		return
	}
	fmt.Fprint(w, "\n## Ratios and their ranges\n\n| operation | metric | target | against | ratio | range | "+
		"|\n|---|---|---|---|--:|---|---|\n")
	for _, c := range r.Comparisons {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %.2f | %.2f–%.2f | %s |\n", c.Operation, c.Metric, c.Target, c.Against, c.Ratio,
			c.Min, c.Max, c.Verdict)
	}
}
