package main

import (
	"fmt"
	"strconv"
	"strings"
)

// parseCeilings reads lines of an area and its ceiling. Empty lines, and those that begin with #, are ignored.
func parseCeilings(text string) (map[string]int, error) {
	ceilings := map[string]int{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 2 {
			return nil, fmt.Errorf("%s: %q is not an area and a number", ceilingsFile, line)
		}
		ceiling, err := strconv.Atoi(fields[1])
		if err != nil || ceiling <= limit {
			return nil, fmt.Errorf("%s: %q: a ceiling is a number above %d", ceilingsFile, line, limit)
		}
		ceilings[fields[0]] = ceiling
	}
	return ceilings, nil
}

// compare returns an error for each area above its ceiling, and for each ceiling that the area no longer needs: the
// list only shrinks.
func compare(areas map[string]*area, ceilings map[string]int) (problems []error) {
	for _, name := range names(areas) {
		ceiling, listed := ceilings[name]
		switch rate := areas[name].rate(); {
		case listed && rate <= limit:
			problems = append(problems, fmt.Errorf("%s has %d noun clauses per 1,000 comment lines, remove it from %s",
				name, rate, ceilingsFile))
		case rate > max(ceiling, limit):
			problems = append(problems, fmt.Errorf("%s has %d noun clauses per 1,000 comment lines, at most %d are "+
				"allowed: bin/prose -l %s lists them, name the noun instead", name, rate, max(ceiling, limit), name))
		}
	}
	for _, name := range names(ceilings) {
		if areas[name] == nil {
			problems = append(problems, fmt.Errorf("%s does not exist, remove it from %s", name, ceilingsFile))
		}
	}
	return problems
}
