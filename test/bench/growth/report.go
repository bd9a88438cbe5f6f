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

// Stage is what was measured with a number of Websites. CPU is that of kube-apiserver,
// website-apiserver and etcd together.
type Stage struct {
	Websites int `json:"websites"`
	// Of the Websites that were created since the former stage.
	CreatePerSecond float64 `json:"createPerSecond"`
	CreateMillis    float64 `json:"createMillis"`
	CreateP99Millis float64 `json:"createP99Millis"`
	CreateCPUMillis float64 `json:"createCPUMillis"`
	// From the begin of a change to its event.
	EventMillis    float64 `json:"eventMillis"`
	EventP99Millis float64 `json:"eventP99Millis"`
	// FirstList is before any other since the start of website-apiserver, which keeps nothing encoded then.
	FirstList     List `json:"firstList"`
	List          List `json:"list"`
	ListNamespace List `json:"listNamespace"`
	// ResidentBytes and HeapBytes are by process.
	ResidentBytes map[string]int64 `json:"residentBytes"`
	HeapBytes     map[string]int64 `json:"heapBytes"`
	// DatabaseBytes is the file of the embedded etcd, DatabaseInUseBytes what is used of it.
	DatabaseBytes      int64 `json:"databaseBytes"`
	DatabaseInUseBytes int64 `json:"databaseInUseBytes"`
	// From the start of website-apiserver until it lists Websites, and until kube-apiserver
	// does; and the CPU time that it has used until then.
	RestartSeconds        float64 `json:"restartSeconds"`
	RestartProxiedSeconds float64 `json:"restartProxiedSeconds"`
	RestartCPUSeconds     float64 `json:"restartCPUSeconds"`
}

// List is the median of some lists.
type List struct {
	Millis float64 `json:"millis"`
	// HeaderMillis is until the header of the response.
	HeaderMillis float64 `json:"headerMillis"`
	CPUMillis    float64 `json:"cpuMillis"`
	Bytes        int64   `json:"bytes"`
}

// row is one line of the table.
type row struct {
	name  string
	value func(*Stage) string
}

func rows() []row {
	number := func(value func(*Stage) float64) func(*Stage) string {
		return func(s *Stage) string { return measure.Number(value(s)) }
	}
	bytes := func(value func(*Stage) int64) func(*Stage) string {
		return func(s *Stage) string { return measure.Mebibytes(value(s)) }
	}
	return []row{
		{"create, per second", number(func(s *Stage) float64 { return s.CreatePerSecond })},
		{"create, median ms", number(func(s *Stage) float64 { return s.CreateMillis })},
		{"create, p99 ms", number(func(s *Stage) float64 { return s.CreateP99Millis })},
		{"create, CPU ms", number(func(s *Stage) float64 { return s.CreateCPUMillis })},
		{"change to event, median ms", number(func(s *Stage) float64 { return s.EventMillis })},
		{"change to event, p99 ms", number(func(s *Stage) float64 { return s.EventP99Millis })},
		{"first list of all, ms", number(func(s *Stage) float64 { return s.FirstList.Millis })},
		{"first list of all, CPU ms", number(func(s *Stage) float64 { return s.FirstList.CPUMillis })},
		{"list of all, ms", number(func(s *Stage) float64 { return s.List.Millis })},
		{"list of all, ms to the header", number(func(s *Stage) float64 { return s.List.HeaderMillis })},
		{"list of all, CPU ms", number(func(s *Stage) float64 { return s.List.CPUMillis })},
		{"list of all", bytes(func(s *Stage) int64 { return s.List.Bytes })},
		{"list of a namespace, ms", number(func(s *Stage) float64 { return s.ListNamespace.Millis })},
		{"list of a namespace, CPU ms", number(func(s *Stage) float64 { return s.ListNamespace.CPUMillis })},
		{"website-apiserver, live heap", bytes(func(s *Stage) int64 { return s.HeapBytes[apiServer] })},
		{"website-apiserver, resident", bytes(func(s *Stage) int64 { return s.ResidentBytes[apiServer] })},
		{"kube-apiserver, live heap", bytes(func(s *Stage) int64 { return s.HeapBytes["kube-apiserver"] })},
		{"kube-apiserver, resident", bytes(func(s *Stage) int64 { return s.ResidentBytes["kube-apiserver"] })},
		{"etcd of kube-apiserver, resident", bytes(func(s *Stage) int64 { return s.ResidentBytes["etcd"] })},
		{"embedded etcd, database in use", bytes(func(s *Stage) int64 { return s.DatabaseInUseBytes })},
		{"embedded etcd, database file", bytes(func(s *Stage) int64 { return s.DatabaseBytes })},
		{"restart until it lists, s", number(func(s *Stage) float64 { return s.RestartSeconds })},
		{"restart until kube-apiserver lists, s", number(func(s *Stage) float64 { return s.RestartProxiedSeconds })},
		{"restart, CPU s", number(func(s *Stage) float64 { return s.RestartCPUSeconds })},
	}
}

// Markdown writes a column for each stage.
func (r *Report) Markdown(w io.Writer) {
	fmt.Fprint(w, "\n| Websites |")
	for i := range r.Stages {
		fmt.Fprintf(w, " %d |", r.Stages[i].Websites)
	}
	fmt.Fprint(w, "\n|---|"+strings.Repeat("--:|", len(r.Stages))+"\n")
	for _, row := range rows() {
		fmt.Fprintf(w, "| %s |", row.name)
		for i := range r.Stages {
			fmt.Fprintf(w, " %s |", row.value(&r.Stages[i]))
		}
		fmt.Fprintln(w)
	}
}
