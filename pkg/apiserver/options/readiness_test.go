package options

import (
	"net/http"
	"slices"
	"testing"

	"k8s.io/apiserver/pkg/server/healthz"
)

func names(checks []healthz.HealthChecker) []string {
	var names []string
	for _, check := range checks {
		names = append(names, check.Name())
	}
	return names
}

func TestStorageIsNotReadiness(t *testing.T) {
	config := newConfig(t, http.NotFoundHandler())
	if got := names(config.HealthzChecks); !slices.Contains(got, "etcd") {
		t.Errorf("/healthz checks %v, want etcd among them", got)
	}
	for path, checks := range map[string][]healthz.HealthChecker{"/readyz": config.ReadyzChecks,
		"/livez": config.LivezChecks} {
		if got := names(checks); slices.Contains(got, "etcd") || slices.Contains(got, "etcd-readiness") ||
			!slices.Contains(got, "ping") {
			t.Errorf("%s checks %v, want ping, and not etcd", path, got)
		}
	}
}
