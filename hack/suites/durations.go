package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// durations is a file with the duration of the last run of each suite that passed, in seconds. It is
// in the user's cache, so that new checkouts use it as well.
type durations string

// userCache returns the path of a file or directory of this project in the user's cache.
func userCache(path string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the user's cache directory (set HOME or XDG_CACHE_HOME): %w", err)
	}
	return filepath.Join(cache, "website-apiserver", path), nil
}

func userDurations() (durations, error) {
	file, err := userCache("suites.json")
	return durations(file), err
}

// read returns nothing for an unreadable file: the next write replaces it.
func (d durations) read() map[string]float64 {
	seconds := map[string]float64{}
	if data, err := os.ReadFile(string(d)); err != nil || json.Unmarshal(data, &seconds) != nil {
		return map[string]float64{}
	}
	return seconds
}

func (d durations) of(suite string) time.Duration {
	return time.Duration(d.read()[suite] * float64(time.Second))
}

// write replaces the duration of a suite.
func (d durations) write(suite string, took time.Duration) error {
	seconds := d.read()
	seconds[suite] = took.Round(time.Millisecond).Seconds()
	data, err := json.MarshalIndent(seconds, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(string(d)), 0o755)
	}
	if err == nil {
		err = os.WriteFile(string(d), append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("keeping the duration of suite %s: %w", suite, err)
	}
	return nil
}
