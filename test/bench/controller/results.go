package controller

import (
	"slices"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Measurement summarizes all rounds of one scenario of one contender. Numbers without another
// unit are medians over rounds.
type Measurement struct {
	Scenario  string `json:"scenario"`
	Contender string `json:"contender"`
	// Changes is the number of created or changed Websites.
	Changes int `json:"changes,omitempty"`
	// Seconds is the time until all are Ready, and RoundSeconds the time of each round.
	Seconds      float64   `json:"seconds"`
	RoundSeconds []float64 `json:"roundSeconds"`
	// ReadyMillis are quantiles over the Websites of all rounds, from the request until Ready,
	// and ReportedMillis from the available Deployment.
	ReadyMillis    Quantiles `json:"readyMillis"`
	ReportedMillis Quantiles `json:"reportedMillis"`
	// NeighbourMillis is the time until a Website of another namespace has its Deployment, in a flood.
	NeighbourMillis float64 `json:"neighbourMillis,omitempty"`
	// Calls are the controller's requests, by verb, and Writes by resource.
	Calls  map[string]float64 `json:"calls,omitempty"`
	Writes map[string]float64 `json:"writes,omitempty"`
	// MostWrites is the number of writes in the round that had most.
	MostWrites float64 `json:"mostWrites,omitempty"`
	// CPUSeconds are the CPU seconds of each process.
	CPUSeconds map[string]float64 `json:"cpuSeconds"`
	// HeapBytes and ResidentBytes are what each created Website adds to the controller.
	HeapBytes     float64 `json:"heapBytes,omitempty"`
	ResidentBytes float64 `json:"residentBytes,omitempty"`
}

// Quantiles are of one set of values.
type Quantiles struct {
	Median  float64 `json:"median"`
	P99     float64 `json:"p99"`
	Longest float64 `json:"longest"`
}

func quantiles(values []float64) Quantiles {
	return Quantiles{Median: measure.Median(values), P99: measure.Quantile(values, 0.99),
		Longest: measure.Quantile(values, 1)}
}

// allCalls is the number of requests.
func (m *Measurement) allCalls() float64 { return total(m.Calls) }

// allWrites is the number of requests that are no reads.
func (m *Measurement) allWrites() float64 { return total(m.Writes) }

// serverCPU is the CPU time of the API servers and etcd.
func (m *Measurement) serverCPU() float64 {
	return m.CPUSeconds["kube-apiserver"] + m.CPUSeconds["website-apiserver"] + m.CPUSeconds["etcd"]
}

func total(counts map[string]float64) float64 {
	var n float64
	for _, count := range counts {
		n += count
	}
	return n
}

// results are the samples of all rounds.
type results map[resultKey][]sample

type resultKey struct{ scenario, contender string }

func (r *results) add(contender string, s sample) {
	if *r == nil {
		*r = results{}
	}
	key := resultKey{s.scenario, contender}
	(*r)[key] = append((*r)[key], s)
}

// measurements are in the order of scenarios, then of contenders.
func (r results) measurements(options measure.Options) []Measurement {
	var all []Measurement
	for _, scenario := range allScenarios() {
		for _, contender := range allContenders() {
			if samples := r[resultKey{scenario, contender}]; len(samples) > 0 && slices.Contains(options.Scenarios, scenario) {
				all = append(all, summarize(scenario, contender, samples))
			}
		}
	}
	return all
}

func summarize(scenario, contender string, samples []sample) Measurement {
	m := Measurement{Scenario: scenario, Contender: contender, Changes: samples[0].changes}
	var ready, reported, heap, resident, neighbour []float64
	var byVerb, byResource, cpu []map[string]float64
	for _, s := range samples {
		m.RoundSeconds = append(m.RoundSeconds, s.seconds)
		ready, reported = append(ready, s.ready...), append(reported, s.reported...)
		heap, resident, neighbour = append(heap, s.heap), append(resident, s.resident), append(neighbour, s.neighbour)
		written := asFloats(s.calls.byWrittenResource())
		byVerb, byResource = append(byVerb, asFloats(s.calls.byVerb())), append(byResource, written)
		m.MostWrites = max(m.MostWrites, total(written))
		cpu = append(cpu, s.cpu)
	}
	m.Seconds, m.HeapBytes, m.ResidentBytes = measure.Median(m.RoundSeconds), measure.Median(heap),
		measure.Median(resident)
	m.ReadyMillis, m.ReportedMillis = quantiles(ready), quantiles(reported)
	m.NeighbourMillis = measure.Median(neighbour)
	m.Calls, m.Writes, m.CPUSeconds = medians(byVerb), medians(byResource), medians(cpu)
	return m
}

func asFloats(counts map[string]int) map[string]float64 {
	floats := map[string]float64{}
	for key, n := range counts {
		floats[key] = float64(n)
	}
	return floats
}

// medians returns the median of each key; a missing key counts as 0.
func medians(rounds []map[string]float64) map[string]float64 {
	result := map[string]float64{}
	for _, round := range rounds {
		for key := range round {
			var values []float64
			for _, other := range rounds {
				values = append(values, other[key])
			}
			result[key] = measure.Median(values)
		}
	}
	return result
}
