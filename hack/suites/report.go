package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// The output of a failure is shortened in the middle: the log has all of it.
const (
	firstLines = 100
	lastLines  = 300
)

// printPlans prints the suites before they run.
func printPlans(out io.Writer, plans []plan) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "suite\ttests\tbudget\tlast run\t")
	for _, p := range plans {
		about := p.about
		if p.long {
			about += " (long)"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", p.name, p.tests, short(p.budget), short(p.last), about)
	}
	w.Flush()
}

// printRunning prints a line for each running suite.
func printRunning(out io.Writer, now []running) {
	for _, r := range now {
		done, failed := r.show.read()
		line := fmt.Sprintf("%s: %d of %d tests, %d failed", r.name, done, r.tests, len(failed))
		if len(failed) > 0 {
			line += " (" + strings.Join(failed, ", ") + ")"
		}
		line += ", " + short(time.Since(r.started))
		if r.last > 0 {
			line += " of about " + short(r.last)
		}
		fmt.Fprintln(out, line)
	}
}

// printEnded prints a line for a suite that has ended.
func printEnded(out io.Writer, o outcome) {
	fmt.Fprintf(out, "%s: %s after %s: %s\n", o.name, o.verdict(), short(o.took), o.counts())
}

func (o outcome) verdict() string {
	switch {
	case !o.started:
		return "not run"
	case len(o.failures) > 0:
		return "FAILED"
	default:
		return "passed"
	}
}

// printOutcomes prints everything except the sum.
func printOutcomes(out io.Writer, outcomes []outcome) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nsuite\tresult\tpassed\tfailed\tskipped\ttime\tbudget\t")
	for _, o := range outcomes {
		over := ""
		if o.took > o.budget {
			over = "over budget"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\n",
			o.name, o.verdict(), o.passed, len(o.failures), o.skipped, short(o.took), short(o.budget), over)
	}
	w.Flush()
	printSkips(out, outcomes)
	for _, o := range outcomes {
		for _, u := range o.unreliable {
			fmt.Fprintf(out, "\n=== unreliable: %s failed and passed when it ran again: %s\n%s", u.test, u.reason, cut(u.output))
		}
	}
	for _, o := range outcomes {
		for _, f := range o.failures {
			fmt.Fprintf(out, "\n=== FAILED: %s\n%s", f.title, cut(f.output))
			for i, command := range f.alone {
				if i == 0 {
					fmt.Fprintf(out, "The output of all tests is in %s. To run only this:\n", logFile(o.name))
				}
				fmt.Fprintf(out, "  %s\n", command)
			}
		}
	}
}

// printSkips prints each reason once.
func printSkips(out io.Writer, outcomes []outcome) {
	tests := map[string][]string{}
	for _, o := range outcomes {
		for _, s := range o.skips {
			tests[s.reason] = append(tests[s.reason], s.test)
		}
	}
	for i, reason := range slices.Sorted(maps.Keys(tests)) {
		if i == 0 {
			fmt.Fprintln(out, "\nskipped:")
		}
		names := slices.Compact(slices.Sorted(slices.Values(tests[reason])))
		fmt.Fprintf(out, "  %s\n    %s\n", reason, strings.Join(names, ", "))
	}
}

// cut removes lines from the middle of a long output.
func cut(output string) string {
	lines := slices.Collect(strings.Lines(output))
	removed := len(lines) - firstLines - lastLines
	if removed <= 0 {
		return output
	}
	return strings.Join(lines[:firstLines], "") + fmt.Sprintf("... %d lines are in the log\n", removed) +
		strings.Join(lines[firstLines+removed:], "")
}

// short prints a duration in seconds, such as 1m5s. An unknown one is "-".
func short(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
