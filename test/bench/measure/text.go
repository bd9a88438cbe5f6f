package measure

import "fmt"

// Ratio is value as a multiple of base.
func Ratio(value, base float64) string {
	if value == 0 || base == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", value/base)
}

// Mebibytes rounds.
func Mebibytes(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)) }

// Number has about three significant digits.
func Number(value float64) string {
	switch {
	case value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}
