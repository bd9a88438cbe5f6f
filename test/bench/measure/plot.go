package measure

import (
	"fmt"
	"html"
	"strings"
)

// Panel is a group of bars with a scale of their own: the bars of one operation.
type Panel struct {
	Title string
	Bars  []Bar
}

// Bar is one value.
type Bar struct {
	Label string
	Value float64
	Color string
}

// The measures of a plot, in pixels.
const (
	plotWidth   = 760
	labelWidth  = 190
	valueWidth  = 70
	barHeight   = 14
	barDistance = 18
	panelGap    = 34
	titleHeight = 34
)

// SVG draws horizontal bars, each panel to its own scale, which begins at 0.
func SVG(title string, panels []Panel) string {
	height := titleHeight
	for _, p := range panels {
		height += panelGap + barDistance*len(p.Bars)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="12">`+"\n", plotWidth, height+10, plotWidth, height+10)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n"+`<text x="10" y="22" `+
		`font-size="15">%s</text>`+"\n", html.EscapeString(title))
	y := titleHeight
	for _, p := range panels {
		fmt.Fprintf(&b, `<text x="10" y="%d" font-weight="bold">%s</text>`+"\n", y+20, html.EscapeString(p.Title))
		y += panelGap - 6
		var largest float64
		for _, bar := range p.Bars {
			largest = max(largest, bar.Value)
		}
		for _, bar := range p.Bars {
			width := 0.0
			if largest > 0 {
				width = bar.Value / largest * (plotWidth - labelWidth - valueWidth)
			}
			fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, labelWidth-8, y+barHeight-3,
				html.EscapeString(bar.Label))
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`, labelWidth, y, width, barHeight,
				bar.Color)
			fmt.Fprintf(&b, `<text x="%.1f" y="%d">%s</text>`+"\n", labelWidth+width+5, y+barHeight-3, Number(bar.Value))
			y += barDistance
		}
		y += 6
	}
	b.WriteString("</svg>\n")
	return b.String()
}
