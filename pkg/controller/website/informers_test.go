package website

import "testing"

// TestCompareWithTrimmedChildren: the cached fields are enough to detect unchanged children.
func TestCompareWithTrimmedChildren(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.converge(newWebsite())
	deployments := f.childInformers.Apps().V1().Deployments().Informer().GetIndexer().List()
	if len(deployments) != 1 {
		t.Fatalf("the cache has %d Deployments", len(deployments))
	}
	f.reconcile(testKey)
	if got := f.requests(); len(got) > 0 {
		t.Errorf("requests: %q", got)
	}
}
