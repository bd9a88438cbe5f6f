// Package measure has what benchmarks share: CPU time and memory of processes, statistics, and
// the plots of reports.
package measure
