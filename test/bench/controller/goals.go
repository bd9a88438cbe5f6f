package controller

import "github.com/kubesites/website-apiserver/test/bench/measure"

// Limits of the goals.
const (
	maxOverFloor      = 1.1
	maxReportedMillis = 2000
	// maxNeighbourMillis is for a Website of a namespace while another one has a flood.
	maxNeighbourMillis = 2000
	maxOfScaffold      = 0.5
	maxHeapBytes       = 99 << 10 / 10
	// maxRestartSeconds is for restartWebsites or more.
	maxRestartSeconds = 10
	restartWebsites   = 10_000
)

// addGoals adds those whose measurements are in the report.
func addGoals(r *Report) {
	add := func(name string, value, limit float64) {
		r.AddGoal(measure.Goal{Name: name, Values: []float64{value}, Limit: limit})
	}
	if ours, bare := r.find(create, product), r.find(create, floor); ours != nil && bare != nil {
		add("create: time until all are Ready, of the floor", ours.Seconds/bare.Seconds, maxOverFloor)
	}
	for _, scenario := range []string{create, flood} {
		if ours := r.find(scenario, product); ours != nil {
			add(scenario+": milliseconds from the available Deployment to Ready, p99", ours.ReportedMillis.P99,
				maxReportedMillis)
		}
	}
	if ours := r.find(flood, product); ours != nil {
		add("flood: milliseconds until a Website of another namespace has its Deployment", ours.NeighbourMillis,
			maxNeighbourMillis)
	}
	share := func(name string, value, base float64) {
		if base > 0 {
			add(name, value/base, maxOfScaffold)
		}
	}
	for _, other := range []string{scaffold, tuned} {
		for _, scenario := range allScenarios() {
			ours, theirs := r.find(scenario, product), r.find(scenario, other)
			if ours == nil || theirs == nil {
				continue
			}
			share(scenario+": requests, of "+other, ours.allCalls(), theirs.allCalls())
			share(scenario+": CPU time of the controller, of "+other, ours.CPUSeconds[controllerProcess],
				theirs.CPUSeconds[controllerProcess])
			// With changes at a constant rate, their duration decides.
			if scenario != changes && scenario != hot {
				share(scenario+": seconds, of "+other, ours.Seconds, theirs.Seconds)
			}
		}
	}
	if ours := r.find(create, product); ours != nil {
		add("create: bytes on the heap per Website", ours.HeapBytes, maxHeapBytes)
	}
	if ours := r.find(restart, product); ours != nil {
		if r.Options.Websites >= restartWebsites {
			add("restart: seconds until all are reconciled", ours.Seconds, maxRestartSeconds)
		}
		add("restart: writes, in any round", ours.MostWrites, 0)
	}
}
