package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const source = `package site

func serve(files []string, err error) error {
	if err != nil && len(files) > 0 {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	count = len(files)
	publish(files)
	return nil
}

func untested() error { return err }
`

func TestMutations(t *testing.T) {
	found, err := mutations("pkg/site/site.go", source, []block{{3, 47, 12, 2}})
	if err != nil {
		t.Fatal(err)
	}
	var changes []string
	for _, m := range found {
		for line := range strings.Lines(m.patch()) {
			if strings.HasPrefix(line, "+\t") {
				changes = append(changes, strings.TrimSpace(line[1:]))
			}
		}
	}
	want := []string{
		"if !(err != nil && len(files) > 0) {", "if err != nil || len(files) > 0 {",
		"if err != nil && len(files) >= 0 {", "return nil",
	}
	if !slices.Equal(changes, want) {
		t.Errorf("changed lines: %q, want %q", changes, want)
	}
	deleted := found[len(found)-1]
	wantPatch := "--- a/pkg/site/site.go\n+++ b/pkg/site/site.go\n@@ -7,7 +7,6 @@\n" +
		" \tmu.Lock()\n \tdefer mu.Unlock()\n \tcount = len(files)\n-\tpublish(files)\n \treturn nil\n }\n \n"
	if patch := deleted.patch(); patch != wantPatch {
		t.Errorf("the last patch is\n%s\nwant\n%s", patch, wantPatch)
	}
	if len(found) != len(want)+2 {
		t.Errorf("%d mutations, want those that change a line and two deletions: %+v", len(found), found)
	}
}

func TestReadProfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile")
	profile := strings.Join([]string{
		"mode: set", module + "pkg/site/site.go:3.47,4.36 1 1", module + "pkg/site/site.go:4.36,6.3 1 0",
		module + "pkg/site/zz_generated.deepcopy.go:3.1,4.2 1 1", module + "pkg/site/generated.pb.go:3.1,4.2 1 1",
		module + "pkg/generated/site.go:3.1,4.2 1 1", module + "cmd/site/main.go:3.1,4.2 1 1",
		"example.com/pkg/site.go:3.1,4.2 1 1",
	}, "\n")
	if err := os.WriteFile(path, []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	executed, err := readProfile(path)
	if err != nil || len(executed) != 1 || !slices.Equal(executed["pkg/site/site.go"], []block{{3, 47, 4, 36}}) {
		t.Errorf("executed: %v, %v", executed, err)
	}
}
