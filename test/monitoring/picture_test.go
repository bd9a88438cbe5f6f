package monitoring

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// The picture must contain every panel with its series in Prometheus.
func TestPicture(t *testing.T) {
	panels := Panels(t)
	asked := map[string]bool{}
	page, err := Picture("Websites", panels, 0, 60, func(expression string) ([]Series, error) {
		asked[expression] = true
		return []Series{
			{Labels: map[string]string{"code": "<503>"}, Points: [][2]float64{{0, 1}, {60, 3}}},
			{Points: [][2]float64{{0, math.NaN()}, {60, 12}}},
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	svg := page[strings.Index(page, "<svg"):strings.Index(page, "</body>")]
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture is no SVG: %v", err)
		}
	}
	for _, panel := range panels {
		if !strings.Contains(page, ">"+panel.Title+"</text>") {
			t.Errorf("panel %q is missing", panel.Title)
		}
		for _, target := range panel.Targets {
			if !asked[target.Expr] {
				t.Errorf("panel %q: the query %s was not made", panel.Title, target.Expr)
			}
		}
	}
	if strings.Contains(page, "NaN") || !strings.Contains(page, "&lt;503&gt;: 3/s") {
		t.Error("the picture has values that are none, or lacks a legend")
	}
	if _, err := Picture("", panels, 0, 60, func(string) ([]Series, error) { return nil, errors.New("no") }); err == nil {
		t.Error("a query that fails is not reported")
	}
}

func TestFormat(t *testing.T) {
	for _, test := range []struct {
		value      float64
		unit, want string
	}{
		{3 << 20, "bytes", "3 MiB"}, {2048, "bytes", "2 KiB"}, {0.0123, "s", "12.3 ms"}, {12, "s", "12 s"}, {0, "s", "0 s"},
		{4.5, "reqps", "4.5/s"}, {7, "short", "7"},
	} {
		if got := format(test.value, test.unit); got != test.want {
			t.Errorf("format(%v, %s) = %s, want %s", test.value, test.unit, got, test.want)
		}
	}
	for value, want := range map[float64]float64{0: 1, 3: 5, 0.07: 0.1, 100: 100, 101: 200} {
		if got := roundUp(value); math.Abs(got-want) > 1e-9 {
			t.Errorf("roundUp(%v) = %v, want %v", value, got, want)
		}
	}
}
