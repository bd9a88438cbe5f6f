package bench

import (
	"time"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// sample is one round of one operation on one target.
type sample struct {
	// operations is what CPU time and bytes are divided by: requests, or delivered events.
	operations int
	elapsed    time.Duration
	times      []time.Duration
	firstBytes []time.Duration
	cpu        map[string]time.Duration
	received   int64
	sent       int64
	// body is the size of the bodies of the responses, without HTTP/2 and TLS.
	body int64
}

// Measurement summarizes all rounds of one operation on one target.
type Measurement struct {
	Operation string `json:"operation"`
	Target    string `json:"target"`
	// Requests is the number of times behind MedianMillis and P99Millis.
	Requests        int     `json:"requests"`
	MedianMillis    float64 `json:"medianMillis"`
	P99Millis       float64 `json:"p99Millis"`
	FirstByteMillis float64 `json:"firstByteMillis,omitempty"`
	// PerSecond, and all that follows, are medians over rounds.
	PerSecond float64 `json:"perSecond"`
	// CPUMillis is the CPU time of all serving processes for each operation.
	CPUMillis          float64            `json:"cpuMillis"`
	CPUMillisByProcess map[string]float64 `json:"cpuMillisByProcess"`
	// ReceivedBytes and SentBytes are counted by the client on its connections, with TLS.
	ReceivedBytes float64 `json:"receivedBytes"`
	SentBytes     float64 `json:"sentBytes"`
	BodyBytes     float64 `json:"bodyBytes"`
}

// summarize returns the measurement of the samples of one operation on one target.
func summarize(operation, target string, samples []sample) Measurement {
	var times, firsts, rates, totals, received, sent, bodies []float64
	processes := map[string][]float64{}
	for _, s := range samples {
		per := float64(max(s.operations, 1))
		for _, t := range s.times {
			times = append(times, measure.Milliseconds(t))
		}
		for _, t := range s.firstBytes {
			firsts = append(firsts, measure.Milliseconds(t))
		}
		var total float64
		for name, used := range s.cpu {
			processes[name] = append(processes[name], measure.Milliseconds(used)/per)
			total += measure.Milliseconds(used) / per
		}
		totals = append(totals, total)
		rates = append(rates, per/max(s.elapsed.Seconds(), 1e-9))
		received = append(received, float64(s.received)/per)
		sent = append(sent, float64(s.sent)/per)
		bodies = append(bodies, float64(s.body)/per)
	}
	m := Measurement{
		Operation: operation, Target: target, Requests: len(times),
		MedianMillis: measure.Median(times), P99Millis: measure.Quantile(times, 0.99),
		FirstByteMillis: measure.Median(firsts),
		PerSecond:       measure.Median(rates), CPUMillis: measure.Median(totals), CPUMillisByProcess: map[string]float64{},
		ReceivedBytes: measure.Median(received), SentBytes: measure.Median(sent), BodyBytes: measure.Median(bodies),
	}
	for name, used := range processes {
		if value := measure.Median(used); value > 0 {
			m.CPUMillisByProcess[name] = value
		}
	}
	return m
}

// records collects samples, in the order in which operations were first measured.
type records struct {
	operations []string
	samples    map[string]map[string][]sample
}

func (r *records) add(operation, target string, s sample) {
	if r.samples == nil {
		r.samples = map[string]map[string][]sample{}
	}
	if r.samples[operation] == nil {
		r.operations = append(r.operations, operation)
		r.samples[operation] = map[string][]sample{}
	}
	r.samples[operation][target] = append(r.samples[operation][target], s)
}

// measurements are sorted by operation, then by the position of the target.
func (r *records) measurements(targets []string) []Measurement {
	var all []Measurement
	for _, operation := range r.operations {
		for _, target := range targets {
			if samples := r.samples[operation][target]; samples != nil {
				all = append(all, summarize(operation, target, samples))
			}
		}
	}
	return all
}
