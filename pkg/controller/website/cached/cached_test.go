package cached

import (
	"testing"

	"k8s.io/client-go/tools/cache"
)

func TestTombstone(t *testing.T) {
	tombstone := cache.DeletedFinalStateUnknown{Key: "a/b"}
	if got := Of(tombstone); got != any(tombstone) {
		t.Errorf("a tombstone became %v", got)
	}
}
