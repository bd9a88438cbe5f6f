package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// TestReportNamesResources: the list of objects is incomplete if Websites own other kinds.
func TestReportNamesResources(t *testing.T) {
	var out bytes.Buffer
	printReport(&out, store.Config{}, store.Report{})
	if want := "deployments, services, configmaps"; !strings.Contains(out.String(), want) {
		t.Errorf("the report is %s, want that it names %s", out.String(), want)
	}
}
