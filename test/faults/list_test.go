package faults

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// listPoints plays every scenario undisturbed and returns the points of the calls that all plays made.
func listPoints(t *testing.T, o *observer) []point {
	t.Helper()
	var listed []point
	for _, s := range scenarios {
		common := bounds(t, play(t, o, nil, s.undisturbed(updatePlays)...))
		// The calls for all namespaces are made by a controller of a single one.
		alone := s.undisturbed(1)
		single := bounds(t, append(play(t, o, common.state, alone...), play(t, o, common.state, alone...)...))
		single.calls = slices.DeleteFunc(single.calls, func(at call) bool {
			// The keys of agents are read at the start, and again later.
			return !at.single() || at.resource == "secrets" && (s.before != nil || at.n > 0)
		})
		common.calls = slices.DeleteFunc(common.calls, func(at call) bool {
			// Changes in quick succession share a write of the status, so only its first and last writes
			// are certain.
			return at.single() || at.resource == "websites.mycontroller.nevermosby.io/status" && at.n > 1
		})
		for _, at := range slices.Concat(single.calls, common.calls) {
			for _, f := range faults {
				if s.exposes(at, f) {
					listed = append(listed, point{s, f, at})
				}
			}
		}
	}
	return listed
}

// pointsFile lists the points, relative to this package.
const pointsFile = "testdata/points.txt"

func writePoints(file string, points []point) error {
	lines := []string{"# scenario\tcall\tfrom 1\tfault: by -update-points, without calls that timing decides"}
	for _, p := range points {
		lines = append(lines, fmt.Sprintf("%s\t%s\t%d\t%s", p.scenario.name, p.at.site, p.at.n+1, p.fault.name))
	}
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

func readPoints(file string) ([]point, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var points []point
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		p, err := parsePoint(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", file, line, err)
		}
		points = append(points, p)
	}
	return points, nil
}

func parsePoint(line string) (p point, err error) {
	columns := strings.Split(line, "\t")
	if len(columns) != 4 {
		return p, fmt.Errorf("%d columns, want 4", len(columns))
	}
	s := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == columns[0] })
	f := slices.IndexFunc(faults, func(f *fault) bool { return f.name == columns[3] })
	if s < 0 || f < 0 {
		return p, errors.New("there is no such scenario or fault")
	}
	p.scenario, p.fault = scenarios[s], faults[f]
	words := append(strings.SplitN(columns[1], " ", 3), "")
	p.at.site = site{verb: words[0], resource: words[1], name: words[2]}
	_, err = fmt.Sscanf(columns[2], "%d", &p.at.n)
	p.at.n--
	return p, err
}
