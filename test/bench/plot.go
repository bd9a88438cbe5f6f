package bench

import (
	"strings"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Plots returns SVG files by name: times and CPU times of each kind of operation.
func (r *Report) Plots() map[string]string {
	plots := map[string]string{}
	for _, kind := range []string{"objects", "lists", "watches"} {
		for _, metric := range []struct {
			name, title string
			value       func(*Measurement) float64
		}{
			{"time", "median time, ms", func(m *Measurement) float64 { return m.MedianMillis }},
			{"cpu", "CPU time of all servers, ms", func(m *Measurement) float64 { return m.CPUMillis }},
		} {
			var panels []measure.Panel
			for _, operation := range r.operations() {
				if kindOf(operation) != kind {
					continue
				}
				p := measure.Panel{Title: operation}
				for _, target := range r.Targets {
					if m := r.find(operation, target); m != nil {
						p.Bars = append(p.Bars, measure.Bar{Label: target, Value: metric.value(m)})
					}
				}
				panels = append(panels, p)
			}
			if len(panels) > 0 {
				plots[kind+"-"+metric.name+".svg"] = measure.SVG(kind+": "+metric.title, panels, colours.Of)
			}
		}
	}
	return plots
}

// kindOf groups operations whose times have the same order of magnitude.
func kindOf(operation string) string {
	switch {
	case strings.HasPrefix(operation, "list "), strings.HasPrefix(operation, "WatchList "):
		return "lists"
	case strings.HasPrefix(operation, "event "):
		return "watches"
	default:
		return "objects"
	}
}

// colours tell the kinds of targets apart: ours, the definition, built-in, and the sample.
var colours = measure.Colours{"v1beta1": "#0072b2", "v1alpha1": "#56b4e9", "definition": "#d55e00",
	"ConfigMap":   "#999999",
	"PodTemplate": "#999999", "": "#009e73"}
