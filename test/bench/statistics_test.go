package bench

import (
	"testing"
	"time"
)

func TestSummarize(t *testing.T) {
	round := func(cpu time.Duration) sample {
		return sample{
			operations: 10, elapsed: time.Second, received: 1000, sent: 500, body: 800,
			times:      []time.Duration{time.Millisecond, 3 * time.Millisecond},
			firstBytes: []time.Duration{time.Millisecond},
			cpu:        map[string]time.Duration{"kube-apiserver": cpu, "etcd": 20 * time.Millisecond, "idle": 0},
		}
	}
	// One slow round does not count.
	m := summarize("get", "ours", []sample{round(40 * time.Millisecond), round(time.Hour), round(30 * time.Millisecond)})
	for name, values := range map[string][2]float64{
		"median": {m.MedianMillis, 2}, "p99": {m.P99Millis, 3}, "first byte": {m.FirstByteMillis, 1},
		"per second": {m.PerSecond, 10}, "CPU": {m.CPUMillis, 6},
		"CPU of one": {m.CPUMillisByProcess["etcd"], 2}, "received": {m.ReceivedBytes, 100}, "sent": {m.SentBytes, 50},
		"body": {m.BodyBytes, 80},
	} {
		if values[0] != values[1] {
			t.Errorf("%s: got %v, want %v", name, values[0], values[1])
		}
	}
	if m.Requests != 6 || m.Operation != "get" || m.Target != "ours" {
		t.Errorf("got %+v", m)
	}
	if _, found := m.CPUMillisByProcess["idle"]; found {
		t.Error("a process that did nothing is in the report")
	}
}

func TestMeasurementsAreInOrder(t *testing.T) {
	var r records
	r.add("list", "b", sample{operations: 1})
	r.add("create", "a", sample{operations: 1})
	r.add("list", "a", sample{operations: 1})
	var got []string
	for _, m := range r.measurements([]string{"a", "b"}) {
		got = append(got, m.Operation+" "+m.Target)
	}
	if want := []string{"list a", "list b", "create a"}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] ||
		got[2] != want[2] {
		t.Errorf("got %q, want %q", got, want)
	}
}
