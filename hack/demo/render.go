package main

import (
	"encoding/xml"
	"fmt"
	"strings"
)

const (
	columns    = 112
	lineHeight = 19
	// margin is around the text.
	margin = 18
	width  = 900
)

const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="A terminal session">
<style>
text { font: 13px ui-monospace, Menlo, Consolas, monospace; fill: #e6edf3; white-space: pre }
text { opacity: 0; animation: show 1ms linear forwards }
.command { fill: #7ee787 }
@keyframes show { to { opacity: 1 } }
@media (prefers-reduced-motion: reduce) { text { opacity: 1; animation: none } }
</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
`

// render draws lines that appear at their times.
func render(lines []line) string {
	var body strings.Builder
	y := margin
	for _, l := range lines {
		class, text := "", l.text
		if l.command {
			class, text = ` class="command"`, "$ "+l.text
		}
		for _, part := range fold(text) {
			y += lineHeight
			fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\"%s style=\"animation-delay: %.1fs\" xml:space=\"preserve\">%s</text>\n",
				margin, y, class, l.at.Seconds(), escape(part))
		}
	}
	return fmt.Sprintf(head, width, y+margin) + body.String() + "</svg>\n"
}

// fold breaks a text into parts that fit into a line of the terminal.
func fold(text string) []string {
	runes := []rune(strings.TrimRight(text, " \r"))
	var parts []string
	for len(runes) > columns {
		parts = append(parts, string(runes[:columns]))
		runes = runes[columns:]
	}
	return append(parts, string(runes))
}

func escape(text string) string {
	var escaped strings.Builder
	// A strings.Builder returns no error.
	_ = xml.EscapeText(&escaped, []byte(text))
	return escaped.String()
}
