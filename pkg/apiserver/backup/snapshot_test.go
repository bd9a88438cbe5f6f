package backup

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

func TestSnapshot(t *testing.T) {
	s, revision := newSnapshot(t)
	if s.Websites != 5 || s.Revision != revision || s.Identity() != ours {
		t.Errorf("snapshot = %+v, want 5 Websites at revision %d", s, revision)
	}
	info, err := os.Stat(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 || info.Size() != s.Bytes {
		t.Errorf("the file is %v with %d bytes, want mode 0600 and %d bytes", info.Mode(), info.Size(), s.Bytes)
	}
	verified, err := Verify(t.Context(), s.Path, prefix)
	if err != nil || verified.SHA256 != s.SHA256 || verified.Websites != s.Websites {
		t.Errorf("Verify = %+v, %v, want %+v", verified, err, s)
	}
}

func TestSnapshotIsNotOverwritten(t *testing.T) {
	dataDir, dir := newDataDir(t), t.TempDir()
	client, _ := startEtcd(t, dataDir)
	put(t, client, 0, 1)
	snapshotter := Snapshotter{Transport: transport(t, dataDir), Prefix: prefix}
	path := filepath.Join(dir, "snapshot")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshotter.Save(t.Context(), path); err == nil || !strings.Contains(err.Error(), "not overwritten") {
		t.Errorf("Save to an existing file = %v, want an error", err)
	}
	// Another process creates the file while the snapshot is taken.
	f, err := createIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.discard()
	if err := f.publish(path); err == nil || !strings.Contains(err.Error(), "not overwritten") {
		t.Errorf("publishing under an existing name = %v, want an error", err)
	}
	f.discard()
	content, err := os.ReadFile(path)
	if err != nil || string(content) != "precious" {
		t.Errorf("the existing file has %q, %v", content, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	mustBeEmpty(t, dir)
}

// TestSnapshotOfSomethingElse leaves no file behind.
func TestSnapshotOfSomethingElse(t *testing.T) {
	dataDir := newDataDir(t)
	client, _ := startEtcd(t, dataDir)
	put(t, client, 0, 1)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		ctx         context.Context
		snapshotter Snapshotter
		want        string
	}{
		"another prefix": {t.Context(), Snapshotter{Transport: transport(t, dataDir), Prefix: "/other"},
			"check --etcd-prefix"},
		"interrupted": {canceled, Snapshotter{Transport: transport(t, dataDir), Prefix: prefix}, "canceled"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := test.snapshotter.Save(test.ctx, dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Save = %v, want an error with %q", err, test.want)
			}
			mustBeEmpty(t, dir)
		})
	}
}

func TestVerifyRejects(t *testing.T) {
	s, _ := newSnapshot(t)
	content, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(at int) []byte {
		damaged := slices.Clone(content)
		damaged[at] ^= 0x10
		return damaged
	}
	garbage := slices.Repeat([]byte("garbage!"), 4096)
	sum := sha256.Sum256(garbage)
	tests := map[string]struct {
		content []byte
		prefix  string
		want    string
	}{
		"an empty file":                  {nil, prefix, "truncated"},
		"truncated in the SHA-256":       {content[:len(content)-1], prefix, "truncated"},
		"without the SHA-256":            {content[:len(content)-sha256.Size], prefix, "truncated"},
		"truncated to whole sectors":     {content[:len(content)-8*sectorSize], prefix, "damaged or truncated"},
		"a flipped bit in the first KiB": {flipped(100), prefix, "damaged or truncated"},
		"a flipped bit in the middle":    {flipped(len(content) / 2), prefix, "damaged or truncated"},
		"a flipped bit in the SHA-256":   {flipped(len(content) - 5), prefix, "damaged or truncated"},
		"garbage with its SHA-256":       {append(garbage, sum[:]...), prefix, "invalid database"},
		"a store with another prefix":    {content, "/other", "check --etcd-prefix"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Verify(t.Context(), path, test.prefix); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Verify = %v, want an error with %q", err, test.want)
			}
		})
	}
	if _, err := Verify(t.Context(), t.TempDir(), prefix); err == nil {
		t.Error("Verify accepts a directory")
	}
}

// TestPrune keeps the last snapshots of a store, and all of other stores.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	mine, theirs := &store.Record{Identity: ours}, &store.Record{Identity: ours + "-theirs"}
	start := time.Date(2026, 11, 22, 23, 59, 58, 0, time.UTC)
	create := func(name string, modified time.Time) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, modified, modified); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var snapshots []string
	for i := range 5 {
		snapshots = append(snapshots, create(mustName(t, mine, start.Add(time.Duration(i)*time.Second)), start))
	}
	now := time.Now()
	// A snapshot from the future, by a wrong clock, must not cause the removal of the last one.
	kept := append(snapshots[3:], create(mustName(t, mine, now.AddDate(1, 0, 0)), start),
		create(mustName(t, theirs, start), start), create(mustName(t, nil, start), start), create("notes.txt", start),
		create(".website-store-1.partial", now))
	create(".website-store-2.partial", now.Add(-2*staleAfter))

	removed, err := prune(dir, mine, 2, now)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(removed)
	if !slices.Equal(removed, snapshots[:3]) {
		t.Errorf("removed %v, want %v", removed, snapshots[:3])
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		left = append(left, filepath.Join(dir, entry.Name()))
	}
	slices.Sort(kept)
	if !slices.Equal(left, kept) {
		t.Errorf("left %v, want %v", left, kept)
	}
}

// TestNames: a client that writes to etcd cannot choose the directory.
func TestNames(t *testing.T) {
	for identity, valid := range map[string]bool{ours: true, "../" + ours: false, "a/b": false, "/": false} {
		if got, err := name(&store.Record{Identity: identity}, time.Now()); (err == nil) != valid {
			t.Errorf("a snapshot of the store %q is %q (%v), want it to be named: %t", identity, got, err, valid)
		}
	}
}
