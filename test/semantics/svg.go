package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
)

// style colours a drawing for light and for dark surroundings. The background is the drawing's own,
// so that it can be read on a page that chose otherwise. Lines differ in dashes too.
const style = `
.bg{fill:#fff}.grid{stroke:#d8dee4}.frame{fill:none;stroke:#8c959f}
text{fill:#1f2328;font:12px system-ui,sans-serif}.small{font-size:11px;fill:#57606a}.title{font-weight:600}
.bound{stroke:#cf222e;stroke-dasharray:6 4}.boundtext{fill:#cf222e;font-size:11px}
.line{fill:none;stroke-width:1.7;stroke-linejoin:round}
.c0{stroke:#0969da}.c1{stroke:#bc4c00;stroke-dasharray:9 3}.c2{stroke:#1a7f37;stroke-dasharray:3 2}
.c3{stroke:#8250df;stroke-dasharray:12 3 3 3}.c4{stroke:#bf3989;stroke-dasharray:5 2}.c5{stroke:#57606a;stroke-dasharray:1 3}
@media (prefers-color-scheme:dark){
.bg{fill:#0d1117}.grid{stroke:#262c36}.frame{stroke:#6e7681}
text{fill:#e6edf3}.small{fill:#9198a1}
.bound{stroke:#ff7b72}.boundtext{fill:#ff7b72}
.c0{stroke:#58a6ff}.c1{stroke:#f0883e}.c2{stroke:#3fb950}.c3{stroke:#bc8cff}.c4{stroke:#f778ba}.c5{stroke:#9198a1}
}
`

// colours is how many lines of a chart can be told apart.
const colours = 6

// tenths is a length on a drawing, in tenths of a pixel. Whole numbers come out the same on every
// machine.
type tenths int64

func (t tenths) String() string {
	if t%10 == 0 {
		return fmt.Sprint(int64(t / 10))
	}
	return fmt.Sprintf("%d.%d", t/10, t%10)
}

// drawing is an SVG image in the making.
type drawing struct{ buf bytes.Buffer }

// newDrawing starts an image of the given size. The title and the description are for those who
// cannot see it.
func newDrawing(width, height tenths, title, description string) *drawing {
	d := new(drawing)
	fmt.Fprintf(&d.buf, `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%s" height="%s" viewBox="0 0 %s %s">`+"\n", width, height, width, height)
	fmt.Fprintf(&d.buf, "<title>%s</title>\n<desc>%s</desc>\n<style>%s</style>\n", escape(title), escape(description), style)
	d.rect("bg", 0, 0, width, height)
	return d
}

func (d *drawing) rect(class string, x, y, width, height tenths) {
	fmt.Fprintf(&d.buf, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n", class, x, y, width, height)
}

func (d *drawing) line(class string, x1, y1, x2, y2 tenths) {
	fmt.Fprintf(&d.buf, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", class, x1, y1, x2, y2)
}

// text writes s at a point; anchor is start, middle or end.
func (d *drawing) text(class, anchor string, x, y tenths, s string) {
	fmt.Fprintf(&d.buf, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`+"\n", class, anchor, x, y, escape(s))
}

// path connects points; a break in it is a pen that is lifted.
func (d *drawing) path(class string, points []spot) {
	fmt.Fprintf(&d.buf, `<path class="%s" d="`, class)
	var last spot
	for i, p := range points {
		switch {
		case i == 0 || p.lift:
			fmt.Fprintf(&d.buf, "M%s %s", p.x, p.y)
		case p.y == last.y:
			fmt.Fprintf(&d.buf, "H%s", p.x)
		case p.x == last.x:
			fmt.Fprintf(&d.buf, "V%s", p.y)
		default:
			fmt.Fprintf(&d.buf, "L%s %s", p.x, p.y)
		}
		last = p
	}
	d.buf.WriteString("\"/>\n")
}

// spot is a point of a path; to a lifted one no line leads.
type spot struct {
	x, y tenths
	lift bool
}

// bytes ends the image.
func (d *drawing) bytes() []byte {
	d.buf.WriteString("</svg>\n")
	return d.buf.Bytes()
}

func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}
