package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCluster runs a suite with scripts in place of the development cluster.
func TestCluster(t *testing.T) {
	const script = "#!/bin/sh\necho \"$@\" >> calls\n"
	wantCalls := []string{"up --dir=DIR --free-ports --node=simulated", "down --dir=DIR"}
	tests := map[string]struct {
		devcluster string
		fail       bool
		want       string
	}{
		"passes":            {devcluster: script, want: "1 passed, 0 failed, 0 skipped"},
		"the tests fail":    {devcluster: script, fail: true, want: "0 passed, 1 failed, 0 skipped"},
		"it does not start": {devcluster: script + "[ $1 = down ]\n", want: "0 passed, 1 failed, 0 skipped"},
		"it does not stop":  {devcluster: script + "[ $1 = up ]\n", want: "1 passed, 1 failed, 0 skipped"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			root := checkout(t, map[string]string{
				"bin/devcluster":   test.devcluster,
				"hack/go-build.sh": "#!/bin/sh\n",
				"p_test.go": testFile("\t\"flag\"\n\t\"os\"\n", `var (
	cluster = flag.String("cluster", "", "")
	fail    = flag.Bool("fail", false, "")
)

func TestIn(t *testing.T) {
	if _, err := os.Stat(*cluster); *cluster == "" || *fail || err != nil {
		t.Error(*cluster, err)
	}
}
`),
			})
			s := suite{name: "s", cluster: []string{"--node=simulated"}, steps: []step{{module: ".", packages: []string{"."}}}}
			if test.fail {
				s.steps[0].args = []string{"-fail"}
			}
			p := plansOf(t, root, s)[0]
			got := (&runner{root: root}).run(t.Context(), p, &progress{})
			if got.counts() != test.want {
				t.Errorf("got %s, want %s: %+v", got.counts(), test.want, got.failures)
			}
			data, err := os.ReadFile(filepath.Join(root, "calls"))
			if err != nil {
				t.Fatal(err)
			}
			dir := regexp.MustCompile("--dir=" + regexp.QuoteMeta(os.TempDir()) + `\S+`)
			calls := dir.ReplaceAllString(string(data), "--dir=DIR")
			if got := strings.Split(strings.TrimSpace(calls), "\n"); !slices.Equal(got, wantCalls) {
				t.Errorf("devcluster was called with %q, want %q", got, wantCalls)
			}
		})
	}
}
