package bench

import (
	"fmt"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Limits of the goals: ratios, but where a name says otherwise.
const (
	maxJSONList         = 0.35
	maxProtobufList     = 0.15
	maxTable            = 0.5
	maxFirstByteMillis  = 50
	maxProtobufBytes    = 0.5
	maxStored           = 0.5
	maxHeap             = 0.5
	maxEventCPU         = 0.8
	maxSequentialMillis = 0.3
	asMuch              = 1.0
	// moreForAlpha is the factor of the goals of v1alpha1 to those of v1beta1.
	moreForAlpha = 1.25
)

// maxOfOriginal are what operations may take of the CPU time of the original definition, as v1beta1.
var maxOfOriginal = []struct {
	operation string
	limit     float64
}{{"create", 1.2}, {"get", 1.25}, {"patch", 0.95}, {"delete", 1.05}, {"event to 50 watchers", 1.4}}

// goalList adds the goals of a report.
type goalList struct{ report *Report }

// addGoals adds those whose measurements are in the report.
func addGoals(r *Report) {
	l := &goalList{report: r}
	for _, most := range maxOfOriginal {
		goal := ", of " + original + ": " + most.operation + ", cpu"
		beta, alpha := originalAs("v1beta1"), originalAs("v1alpha1")
		l.atMost(beta+goal, most.limit, "cpu", beta, original, most.operation)
		l.atMost(alpha+goal, moreForAlpha*most.limit, "cpu", alpha, original, most.operation)
	}
	one, all := fmt.Sprintf("list %d", r.Options.Websites), fmt.Sprintf("list %d", r.Options.Websites*len(dataNamespaces))
	cached := []string{one, all, one + ", consistent", all + ", consistent"}
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		json, protobuf := version+" proxied JSON", version+" proxied protobuf"
		for _, metric := range []string{"cpu", "time"} {
			l.atMost(version+": lists as JSON, "+metric, maxJSONList, metric, json, definition, cached...)
			l.atMost(version+": lists as protobuf, "+metric, maxProtobufList, metric, protobuf, definition, cached...)
			l.atMost(version+": lists as Table, "+metric, maxTable, metric, json, definition, one+" as Table", all+" as Table")
			l.atMost(version+": the first list as JSON, "+metric, maxJSONList, metric, json, definition, all+", the first")
			l.atMost(version+": the first list as protobuf, "+metric, maxProtobufList, metric, protobuf, definition,
				all+", the first")
		}
		l.firstByte(version+": milliseconds until the first byte of JSON", json, cached...)
		l.firstByte(version+": milliseconds until the first byte of protobuf", protobuf, cached...)
		l.firstByte(version+": the first list as JSON, milliseconds until the first byte", json, all+", the first")
		l.firstByte(version+": the first list as protobuf, milliseconds until the first byte", protobuf, all+", the first")
		l.firstByte(version+": milliseconds until the first byte of a Table", json, one+" as Table", all+" as Table")
		l.atMost(version+": bytes of a list as JSON", asMuch, "bytes", json, definition, all)
		l.atMost(version+": bytes of a list as protobuf", maxProtobufBytes, "bytes", protobuf, definition, all)
		l.atMost(version+": create, get, patch, delete, cpu", asMuch, "cpu", json, definition, singles...)
		l.atLeast(version+": create, get, patch, delete, per second", asMuch, "perSecond", json, definition, singles...)
		l.difference(version+": get, sequential, milliseconds more", maxSequentialMillis, "time", json, definition,
			"get, sequential")
		for _, watchers := range r.Options.Watchers {
			event := fmt.Sprintf("event to %d watchers", watchers)
			l.atMost(version+": "+event+", median", asMuch, "time", json, definition, event)
			l.atMost(version+": "+event+", p99", asMuch, "p99", json, definition, event)
			l.atMost(version+": "+event+", cpu", maxEventCPU, "cpu", json, definition, event)
		}
	}
	for _, other := range []string{builtIn, "PodTemplate JSON"} {
		const direct = "v1beta1 direct JSON"
		l.atLeast("direct, of "+other+": create, get, patch, delete, per second", asMuch, "perSecond", direct,
			other, singles...)
		l.atMost("direct, of "+other+": get, sequential, time", asMuch, "time", direct, other, "get, sequential")
	}
	l.atMost("bytes in etcd", maxStored, "stored", "websites", "definition", "")
	l.atMost("live heap added", maxHeap, "heap", "websites", "definition", "")
	l.atMost("live heap added, after lists in each format", maxHeap, "listedHeap", "websites", "definition", "")
}

// singles are the operations on single objects that have goals.
var singles = []string{"create", "get", "patch", "delete"}

func (l *goalList) atMost(name string, limit float64, metric, target, against string, operations ...string) {
	l.ratios(measure.Goal{Name: name, Limit: limit}, metric, target, against, operations)
}

func (l *goalList) atLeast(name string, limit float64, metric, target, against string, operations ...string) {
	l.ratios(measure.Goal{Name: name, Limit: limit, AtLeast: true}, metric, target, against, operations)
}

func (l *goalList) ratios(goal measure.Goal, metric, target, against string, operations []string) {
	l.add(goal, operations, func(operation string) (float64, bool) {
		ratio := l.report.ratio(operation, metric, target, against)
		return ratio, ratio > 0
	})
}

func (l *goalList) firstByte(name, target string, operations ...string) {
	l.add(measure.Goal{Name: name, Limit: maxFirstByteMillis}, operations, func(operation string) (float64, bool) {
		value := l.report.value(operation, "firstByte", target)
		return value, value > 0
	})
}

func (l *goalList) difference(name string, limit float64, metric, target, against string, operations ...string) {
	l.add(measure.Goal{Name: name, Limit: limit}, operations, func(operation string) (float64, bool) {
		value, base := l.report.value(operation, metric, target), l.report.value(operation, metric, against)
		return value - base, value > 0 && base > 0
	})
}

// add adds a goal if one of its operations was measured.
func (l *goalList) add(goal measure.Goal, operations []string, measured func(operation string) (float64, bool)) {
	for _, operation := range operations {
		if value, ok := measured(operation); ok {
			goal.Values = append(goal.Values, value)
		}
	}
	if len(goal.Values) == 0 {
		return
	}
	l.report.AddGoal(goal)
}
