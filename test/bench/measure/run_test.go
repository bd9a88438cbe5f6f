package measure

import (
	"errors"
	"slices"
	"testing"
)

// TestOrder: each target precedes each other one in some round.
func TestOrder(t *testing.T) {
	for n := 1; n <= 11; n++ {
		for rounds := 2; rounds <= 5; rounds++ {
			precedes, firsts := map[[2]int]bool{}, map[int]bool{}
			for round := range rounds {
				indexes := Order(n, round, rounds)
				firsts[indexes[0]] = true
				for i, before := range indexes {
					for _, after := range indexes[i+1:] {
						precedes[[2]int{before, after}] = true
					}
				}
			}
			if len(precedes) != n*(n-1) {
				t.Errorf("%d targets in %d rounds: only %d of %d pairs are in that order", n, rounds, len(precedes), n*(n-1))
			}
			if n > 2*rounds && len(firsts) != rounds {
				t.Errorf("%d targets in %d rounds: they begin with %v only", n, rounds, firsts)
			}
		}
	}
}

func TestConcurrently(t *testing.T) {
	called := make([]bool, 10)
	if err := Concurrently(len(called), 2, func(_, i int) error {
		called[i] = true
		return nil
	}); err != nil || slices.Contains(called, false) {
		t.Errorf("called %v, %v", called, err)
	}
	n := 0
	failing := func(int, int) error { n++; return errors.New("failed") }
	if err := Concurrently(len(called), 1, failing); err == nil || n != 1 {
		t.Errorf("got %v after %d calls, want the first error", err, n)
	}
}
