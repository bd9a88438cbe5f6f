package robustness

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/robustness/check"
	"github.com/kubesites/website-apiserver/test/robustness/history"
	"github.com/kubesites/website-apiserver/test/robustness/load"
)

var replicaTime = flag.Duration("replica-time", 0, "how long replicas write around each event; 0: seconds")

const (
	// outageLimit bounds the time of failing requests after an event.
	outageLimit = 2 * time.Second
	// loadedMachine is the factor for a machine that runs all tests.
	loadedMachine = 5
	// spreadLimit bounds the ratio of requests between the busiest server and the idlest one,
	// within spreadTime.
	spreadLimit = 1.5
	spreadTime  = 5 * time.Minute
	// wantedWrites is the number of acknowledged writes per second around each event.
	wantedWrites = 200
)

// TestReplicas ends servers and members of etcd one after the other while clients write
// through kube-apiserver: no acknowledged write is lost, watches miss no event, and requests
// fail only briefly.
func TestReplicas(t *testing.T) {
	tests := []struct {
		name  string
		event func(r *run) error
		// lasting events do not end by themselves soon.
		lasting bool
		// long is set for events of the long form only: in the short form, TestRobustness has them.
		long bool
	}{
		{name: "rolling restart", event: func(r *run) error {
			for name := range framework.Cluster.WebsiteAPIServers() {
				if err := process(name).Restart(r.t.Context()); err != nil {
					return err
				}
				r.waitBalanced()
			}
			return nil
		}},
		{name: "kill of each server", event: func(r *run) error {
			for name := range framework.Cluster.WebsiteAPIServers() {
				if err := r.kill(name); err != nil {
					return err
				}
				r.waitBalanced()
			}
			return nil
		}},
		{name: "kill of a member of etcd", long: true, event: func(r *run) error { return r.kill(anyOf(r.members)) }},
		{name: "kill of the leader of etcd", event: killLeader},
		{name: "server that does not answer", long: true, lasting: true, event: func(r *run) error {
			name := anyOf(framework.Cluster.WebsiteAPIServers())
			framework.Cluster.Balancer().CutOff(name)
			defer framework.Cluster.Balancer().Reconnect(name)
			// kube-apiserver detects a dead connection after 45 seconds.
			r.calm(time.Minute)
			return nil
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.long && *replicaTime == 0 {
				t.Skip("TestRobustness has this fault; -replica-time measures it")
			}
			r := newReplicaRun(t)
			r.calm(max(calmTime(), *replicaTime/2))
			start := r.recorder.Now()
			if err := test.event(r); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			r.waitReady()
			r.calm(max(calmTime(), *replicaTime/2))
			end := r.recorder.Now()
			h := r.finish()
			for _, v := range check.Run(h) {
				t.Errorf("%s", v)
			}
			outage, failed := h.Outage(start, end, nil)
			limit := outageLimit
			if *replicaTime == 0 {
				limit *= loadedMachine
			}
			if outage > limit && !test.lasting {
				t.Errorf("requests failed for %s, want less than %s", outage, limit)
			}
			t.Logf("%s: %.0f writes per second were acknowledged; %d requests failed, within %s; the slowest one took %s; %v",
				test.name, writeRate(h, end), failed, outage.Round(time.Millisecond),
				slowestOf(h, start, end).Round(time.Millisecond), failures(h))
			if rate := writeRate(h, end); *replicaTime > 0 && rate < wantedWrites {
				t.Logf("this machine makes fewer than %d writes per second", wantedWrites)
			}
		})
	}
	if *replicaTime > 0 {
		t.Run("spread", spread)
	}
}

// newReplicaRun starts writers at kube-apiserver.
func newReplicaRun(t *testing.T) *run {
	t.Helper()
	return &run{environment: newEnvironment(t, func(o *load.Options) {
		o.Targets = map[string]*rest.Config{history.Balanced: o.Targets[history.Balanced]}
		o.WritesOnly, o.WritesPerRead, o.Writers, o.Websites = true, 10, 30, 100
	})}
}

// waitBalanced waits until all servers get connections.
func (r *run) waitBalanced() {
	r.t.Helper()
	framework.WaitFor(r.t, "all servers get connections", func(context.Context) error {
		if ready := framework.Cluster.Balancer().Ready(); len(ready) != apiServers {
			return fmt.Errorf("only %v", ready)
		}
		return nil
	})
}

// slowestOf returns the duration of the slowest request.
func slowestOf(h *history.History, from, to int64) time.Duration {
	var slowest int64
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Call >= from && o.Call <= to {
			slowest = max(slowest, o.Return-o.Call)
		}
	}
	return time.Duration(slowest)
}

// objects matches the object or the connection in error messages.
var objects = regexp.MustCompile(`\((get|put|post|patch|delete) [^)]*\)|[A-Z][a-z]+ "https://[^"]*":|stream ID ` +
	`[0-9]+; |tcp [0-9.:>-]+ `)

// failures counts the failed requests by message.
func failures(h *history.History) map[string]int {
	messages := map[string]int{}
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Outcome == history.Unknown {
			messages[strings.TrimSpace(strings.ReplaceAll(objects.ReplaceAllString(o.Error, ""), "  ", " "))]++
		}
	}
	return messages
}

// writeRate returns the number of acknowledged writes per second up to a moment.
func writeRate(h *history.History, to int64) float64 {
	n := 0
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Verb.Writes() && o.Outcome == history.OK && o.Return <= to {
			n++
		}
	}
	return float64(n) / time.Duration(to).Seconds()
}

// spread makes servers close connections, so that kube-apiserver, which uses one connection at a
// time, uses all servers. It also measures the cost.
func spread(t *testing.T) {
	r := newReplicaRun(t)
	if err := r.restartWith("--goaway-chance=0.005"); err != nil {
		t.Fatal(err)
	}
	start, requests := r.recorder.Now(), r.requests()
	r.calm(spreadTime)
	end := r.recorder.Now()
	var most, least float64
	for name, n := range r.requests() {
		n -= requests[name]
		if most == 0 {
			most, least = n, n
		}
		most, least = max(most, n), min(least, n)
		t.Logf("%s answered %.0f requests", name, n)
	}
	if most > spreadLimit*least {
		t.Errorf("one server answered %.0f requests, another one %.0f", most, least)
	}
	if err := r.restartWith(); err != nil {
		t.Error(err)
	}
	h := r.finish()
	_, failed := h.Outage(start, end, nil)
	t.Logf("%d requests failed because connections ended: %v", failed, failures(h))
	for _, v := range check.Run(h) {
		t.Errorf("%s", v)
	}
}

// requests returns the number of requests for Websites that each server has answered, except
// for watches.
func (r *run) requests() map[string]float64 {
	r.t.Helper()
	requests := map[string]float64{}
	for name, url := range framework.Cluster.WebsiteAPIServers() {
		code, body, err := framework.SecureGet(r.t.Context(), r.t, url+"/metrics", true)
		if err == nil && code != http.StatusOK {
			err = errors.New(body)
		}
		if err != nil {
			r.t.Fatalf("reading the metrics of %s: %v", name, err)
		}
		for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
			labels, value, _ := strings.Cut(lines.Text(), "} ")
			if strings.HasPrefix(labels, "apiserver_request_total{") && strings.Contains(labels, `resource="websites"`) &&
				!strings.Contains(labels, `verb="WATCH"`) {
				n, err := strconv.ParseFloat(value, 64)
				if err != nil {
					r.t.Fatalf("reading the metrics of %s: %v", name, err)
				}
				requests[name] += n
			}
		}
	}
	return requests
}
