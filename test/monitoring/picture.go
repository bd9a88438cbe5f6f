package monitoring

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Panel is a part of the dashboard.
type Panel struct {
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct {
		Height int `json:"h"`
		Width  int `json:"w"`
		X      int `json:"x"`
		Y      int `json:"y"`
	} `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
	} `json:"targets"`
}

// Series is a series in Prometheus' response to a query of a panel.
type Series struct {
	Labels map[string]string
	// Points are times in seconds, and values.
	Points [][2]float64
}

// These are the size of a cell of the grid with 24 columns, and the margins of a panel, in pixels.
const (
	cellWidth, cellHeight  = 48, 24
	gap                    = 6
	left, top, legendLine  = 58, 30, 15
	right, shownSeries     = 12, 5
	gridLines, pointRadius = 4, 1.5
)

var colours = []string{"#3274d9", "#e0752d", "#37872d", "#a352cc", "#c4162a"}

// Picture draws panels as a page, at their positions in the dashboard. query returns the
// series of an expression between two times. It replaces Grafana, which is neither a Go
// module nor a package of Debian: the panels, queries, units and legends are the
// dashboard's, the style is not.
func Picture(title string, panels []Panel, from, to float64,
	query func(expression string) ([]Series, error)) (string, error) {
	var b strings.Builder
	height := 0
	for _, panel := range panels {
		height = max(height, (panel.GridPos.Y+panel.GridPos.Height)*cellHeight)
	}
	fmt.Fprintf(&b, `<!DOCTYPE html><meta charset="utf-8"><title>%s</title><body style="margin:0;background:#f4f5f5">
<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12" fill="#24292e">
`, html.EscapeString(title), 24*cellWidth, height)
	for _, panel := range panels {
		var drawn []line
		for _, target := range panel.Targets {
			found, err := query(target.Expr)
			if err != nil {
				return "", fmt.Errorf("panel %s: %w", panel.Title, err)
			}
			for _, s := range found {
				drawn = append(drawn, line{legend(target.LegendFormat, s.Labels), s.Points})
			}
		}
		panel.draw(&b, drawn, from, to)
	}
	b.WriteString("</svg></body>\n")
	return b.String(), nil
}

type line struct {
	legend string
	points [][2]float64
}

var label = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

func legend(format string, labels map[string]string) string {
	return label.ReplaceAllStringFunc(format, func(s string) string { return labels[label.FindStringSubmatch(s)[1]] })
}

// draw draws a panel, or the title of a row of panels.
func (p Panel) draw(b *strings.Builder, lines []line, from, to float64) {
	x, y := p.GridPos.X*cellWidth, p.GridPos.Y*cellHeight
	width, height := p.GridPos.Width*cellWidth-gap, p.GridPos.Height*cellHeight-gap
	if p.Type == "row" {
		fmt.Fprintf(b, `<text x="%d" y="%d" font-size="14" font-weight="bold">%s</text>`+"\n", x+gap, y+cellHeight-gap,
			html.EscapeString(p.Title))
		return
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(last(b), last(a)), cmp.Compare(a.legend, b.legend))
	})
	shown := lines[:min(len(lines), shownSeries)]
	plotWidth := float64(width - left - right)
	plotHeight := float64(height - top - gap - legendLine*(max(len(shown), 1)+1))
	fmt.Fprintf(b, `<g transform="translate(%d,%d)"><rect width="%d" height="%d" fill="#fff" stroke="#dcdde0"/><text `+
		`x="10" y="19" font-weight="bold">%s</text>`+"\n",
		x+gap/2, y, width, height, html.EscapeString(p.Title))
	highest := 0.0
	for _, l := range lines {
		for _, point := range l.points {
			if !math.IsInf(point[1], 0) && !math.IsNaN(point[1]) {
				highest = max(highest, point[1])
			}
		}
	}
	highest = roundUp(highest)
	for i := range gridLines + 1 {
		value := highest * float64(i) / gridLines
		at := float64(top) + plotHeight*(1-float64(i)/gridLines)
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#e9edf2"/><text x="%d" y="%.1f" font-size="10" `+
			`text-anchor="end" fill="#6b7280">%s</text>`+"\n",
			left, width-right, at, at, left-6, at+3, format(value, p.FieldConfig.Defaults.Unit))
	}
	for i, l := range lines {
		colour := colours[i%len(colours)]
		var path strings.Builder
		for _, point := range l.points {
			if math.IsInf(point[1], 0) || math.IsNaN(point[1]) {
				continue
			}
			px := float64(left) + plotWidth*(point[0]-from)/(to-from)
			py := float64(top) + plotHeight*(1-point[1]/highest)
			fmt.Fprintf(&path, "%.1f,%.1f ", px, py)
		}
		if path.Len() > 0 {
			fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="%.1f"/>`+"\n",
				strings.TrimSpace(path.String()), colour, pointRadius)
		}
	}
	for i, l := range shown {
		at := height - gap - legendLine*(len(shown)-1-i)
		text := l.legend
		if len(l.points) > 0 {
			text += ": " + format(l.points[len(l.points)-1][1], p.FieldConfig.Defaults.Unit)
		}
		if i == len(shown)-1 && len(lines) > len(shown) {
			text += fmt.Sprintf(", and %d more", len(lines)-len(shown))
		}
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="10" height="3" fill="%s"/><text x="%d" y="%d" font-size="11">%s</text>`+
			"\n",
			left, at-6, colours[i%len(colours)], left+16, at-1, html.EscapeString(text))
	}
	if len(lines) == 0 {
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" fill="#6b7280">No data</text>`+"\n", width/2, height/2)
	}
	b.WriteString("</g>\n")
}

func last(l line) float64 {
	if len(l.points) == 0 || math.IsNaN(l.points[len(l.points)-1][1]) {
		return -1
	}
	return l.points[len(l.points)-1][1]
}

// roundUp returns 1, 2 or 5 times a power of ten.
func roundUp(value float64) float64 {
	if value <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(value)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if value <= factor*power {
			return factor * power
		}
	}
	return value
}

// format writes a value with the unit of a panel.
func format(value float64, unit string) string {
	short := func(value float64) string { return strconv.FormatFloat(value, 'g', 3, 64) }
	switch {
	case unit == "bytes" && value >= 1<<20:
		return short(value/(1<<20)) + " MiB"
	case unit == "bytes":
		return short(value/(1<<10)) + " KiB"
	case unit == "s" && value != 0 && value < 1:
		return short(value*1000) + " ms"
	case unit == "s":
		return short(value) + " s"
	case unit == "reqps", unit == "ops":
		return short(value) + "/s"
	}
	return short(value)
}
