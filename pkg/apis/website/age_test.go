package website

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestIsOlder: two Websites that want the same host are always in the same order.
func TestIsOlder(t *testing.T) {
	at := func(seconds int64, namespace, name string) metav1.Object {
		return &metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Unix(seconds, 0)), Namespace: namespace, Name: name}
	}
	ordered := []metav1.Object{
		at(1, "b", "z"), at(2, "a", "a"), at(2, "a", "b"), at(2, "b", "a"), at(3, "a", "a"),
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := IsOlder(a, b); got != (i < j) {
				t.Errorf("%v is older than %v: %t", a, b, got)
			}
		}
	}
}
