package controller

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func auditLine(user, verb, resource, subresource, stage string) string {
	return fmt.Sprintf(`{"stage":%q,"verb":%q,"user":{"username":%q},"objectRef":{"resource":%q,"subresource":%q}}`+"\n",
		stage, verb, user, resource, subresource)
}

func TestCount(t *testing.T) {
	const complete, started = "ResponseComplete", "ResponseStarted"
	c := &callCounter{counts: map[string]calls{productUser: {}}}
	data := auditLine(productUser, "update", "websites", "status", complete) +
		auditLine(productUser, "watch", "websites", "", started) + auditLine(productUser, "watch", "websites", "", complete) +
		auditLine(productUser, "list", "pods", "", complete) +
		auditLine(productUser, "update", "leases", "", complete) + auditLine(productUser, "create",
		"subjectaccessreviews", "", complete) +
		auditLine("another", "get", productUser, "", complete)
	rest := c.count([]byte(data[:len(data)-10]))
	if rest = c.count(append(rest, data[len(data)-10:]...)); len(rest) > 0 {
		t.Errorf("%q is left", rest)
	}
	want := calls{{"update", "websites/status"}: 1, {"watch", "websites"}: 1, {"list", "pods"}: 1}
	if got, _ := c.of(productUser); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := want.byWrittenResource(); len(got) != 1 || got["websites/status"] != 1 {
		t.Errorf("got writes %v", got)
	}
	if got := want.byVerb(); got["watch"] != 1 || sum(got) != 3 {
		t.Errorf("got verbs %v", got)
	}
	if got := want.since(calls{{"list", "pods"}: 1}); sum(got) != 2 {
		t.Errorf("got %v since the list", got)
	}
}

// TestFollow: nothing is lost when the log is rotated.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	line := auditLine(productUser, "get", "websites", "", "ResponseComplete")
	write := func(lines string) {
		if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(line)
	c := &callCounter{path: path, counts: map[string]calls{productUser: {}}}
	ctx, stop := context.WithCancel(t.Context())
	var counter sync.WaitGroup
	counter.Go(func() { c.run(ctx) })
	defer counter.Wait()
	defer stop()
	awaitCalls := func(want int) {
		t.Helper()
		if err := await(t.Context(), "calls", time.Minute, func() error {
			if got, err := c.of(productUser); err != nil || sum(got) != want {
				return fmt.Errorf("got %v, %w, want %d", got, err, want)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	awaitCalls(1)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(line + line)
	awaitCalls(3)
}
