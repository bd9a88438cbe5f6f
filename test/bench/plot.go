package bench

import (
	"cmp"
	"strings"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Plots returns SVG files by name, with the CPU time of lists and of operations on single objects. Their times
// differ by orders of magnitude.
func (r *Report) Plots() map[string]string {
	panels := map[string][]measure.Panel{}
	for _, operation := range r.operations() {
		kind := "objects"
		switch {
		case strings.HasPrefix(operation, "list "), strings.HasPrefix(operation, "WatchList "):
			kind = "lists"
		case strings.HasPrefix(operation, "event "):
			continue
		}
		p := measure.Panel{Title: operation}
		for _, target := range r.Targets {
			if m := r.find(operation, target); m != nil {
				p.Bars = append(p.Bars, measure.Bar{Label: target, Value: m.CPUMillis, Color: colorOf(target)})
			}
		}
		panels[kind] = append(panels[kind], p)
	}
	plots := map[string]string{}
	for kind, panels := range panels {
		plots[kind+"-cpu.svg"] = measure.SVG(kind+": CPU time of all servers, ms", panels)
	}
	return plots
}

// colorOf tells the kinds of targets apart: ours, the definition, built-in, and the sample.
func colorOf(target string) string {
	kind, _, _ := strings.Cut(target, " ")
	return cmp.Or(map[string]string{"v1beta1": "#0072b2", "v1alpha1": "#56b4e9", "definition": "#d55e00",
		"ConfigMap": "#999999", "PodTemplate": "#999999"}[kind], "#009e73")
}
