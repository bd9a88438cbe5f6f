package measure

import "testing"

func TestMedianAndQuantile(t *testing.T) {
	tests := map[string]struct {
		values           []float64
		median, quantile float64
	}{
		"none":    {nil, 0, 0},
		"one":     {[]float64{7}, 7, 7},
		"odd":     {[]float64{3, 1, 2}, 2, 3},
		"even":    {[]float64{4, 1, 3, 2}, 2.5, 4},
		"outlier": {append(make([]float64, 99), 1000), 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Median(test.values); got != test.median {
				t.Errorf("median: got %v, want %v", got, test.median)
			}
			if got := Quantile(test.values, 0.99); got != test.quantile {
				t.Errorf("p99: got %v, want %v", got, test.quantile)
			}
		})
	}
}
