package main

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	const name, member = "TestSite/is_served", `"Test":"TestSite/is_served"`
	for what, c := range map[string]struct {
		output string
		want   verdict
	}{
		"failed":            {`{"Action":"run",$}{"Action":"fail",$}{"Action":"fail"}`, failed},
		"passed":            {`{"Action":"run",$}{"Action":"pass",$}{"Action":"pass"}`, passed},
		"skipped":           {`{"Action":"run",$}{"Action":"skip",$}{"Action":"pass"}`, skipped},
		"the process ended": {`{"Action":"run",$}{"Action":"fail"}`, failed},
		"only its parent": {`{"Action":"run","Test":"TestSite"}{"Action":"fail","Test":"TestSite"}{"Action":"fail"}`,
			notRun},
		"only a sibling":  {`{"Action":"fail","Test":"TestSite/is_removed"}{"Action":"pass",$}{"Action":"fail"}`, passed},
		"no tests to run": {`{"Action":"output","Output":"testing: warning: no tests to run\n"}{"Action":"pass"}`, notRun},
		"no cluster":      {`{"Action":"output","Output":"tests: kube-apiserver has ended\n"}{"Action":"fail"}`, notRun},
		"not compiled": {`{"Action":"build-output","Output":"undefined: x\n"}{"Action":"build-fail"}{"Action":"fail"}`,
			notCompiled},
		"timed out": {`{"Action":"run",$}{"Action":"output","Output":"panic: test timed out\n"}{"Action":"fail",$}`,
			timedOut},
		"nothing": {``, notRun},
	} {
		if got, _ := judge(strings.NewReader(strings.ReplaceAll(c.output, "$", member)), name); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
	lines := `{"Action":"output","Output":"one\n"}{"Action":"output","Output":"two\n"}`
	if _, text := judge(strings.NewReader(lines), name); text != "one\ntwo\n" {
		t.Errorf("the text is %q", text)
	}
}
