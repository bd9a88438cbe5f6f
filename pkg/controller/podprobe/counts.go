package podprobe

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// syncCounts are how often git-sync has fetched since it started.
type syncCounts struct {
	// good counts the fetches that worked, whether or not they brought a commit.
	good float64
	// failed counts those that did not.
	failed float64
}

// parseCounts reads git_sync_count_total from the metrics of git-sync. The
// series of a result appears with the first fetch that ends so.
func parseCounts(body []byte) (syncCounts, error) {
	var counts syncCounts
	for scanner := bufio.NewScanner(bytes.NewReader(body)); scanner.Scan(); {
		rest, found := strings.CutPrefix(scanner.Text(), `git_sync_count_total{status="`)
		if !found {
			continue
		}
		status, number, found := strings.Cut(rest, `"} `)
		if !found {
			continue
		}
		number, _, _ = strings.Cut(number, " ") // A time stamp may follow.
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return syncCounts{}, fmt.Errorf("reading git_sync_count_total of git-sync: %w", err)
		}
		switch status {
		case "success", "noop":
			counts.good += value
		case "error":
			counts.failed += value
		}
	}
	return counts, nil
}

// following says whether git-sync follows its repository.
type following int

const (
	// followingUnknown: the counts do not tell yet.
	followingUnknown following = iota
	// followingYes: the last fetch worked.
	followingYes
	// followingNo: the last fetch failed.
	followingNo
)

// follow judges by the current and the last counts. Between two polls
// that show the same there was no fetch, so what was known stays true.
func (c syncCounts) follow(last *syncCounts, known following) following {
	if last == nil || c.good < last.good || c.failed < last.failed {
		// The first probe, or git-sync has started again.
		last, known = &syncCounts{}, followingUnknown
	}
	good, failed := c.good-last.good, c.failed-last.failed
	switch {
	case good > 0 && failed == 0:
		return followingYes
	case good == 0 && failed > 0:
		return followingNo
	default:
		return known
	}
}
