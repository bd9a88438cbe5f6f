package framework

import (
	"slices"
	"testing"
)

func TestLeaks(t *testing.T) {
	before := inventory{"namespaces default": "", "secrets default/old": "", "process etcd": ""}
	now := inventory{
		"namespaces default": "", "secrets default/old": "", "process etcd": "",
		"namespaces test-abcde":         "TestForgetful",
		"secrets test-abcde/in-it":      "",
		"clusterroles.rbac test-abcde":  "",
		"clusterroles.rbac nameless":    "",
		"namespaces crowd":              "",
		"pods crowd/w1":                 "",
		"process website-controller-2":  "",
		"mount /tmp/disk-1":             "",
		"configmaps kube-system/forgot": "",
	}
	want := []string{
		"clusterroles.rbac nameless", "clusterroles.rbac test-abcde (TestForgetful)", "configmaps kube-system/forgot",
		"mount /tmp/disk-1", "namespaces test-abcde (TestForgetful)", "process website-controller-2",
	}
	if got := before.leaks(now); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := before.leaks(before); len(got) > 0 {
		t.Errorf("nothing changed, and there are leaks: %q", got)
	}
}
