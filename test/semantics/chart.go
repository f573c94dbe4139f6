package main

import (
	"fmt"
	"strconv"
)

// chart is panels over a common horizontal axis.
type chart struct {
	title       string
	description string
	x           axis
	panels      []panel
	height      tenths // of a panel
}

// panel is one plot. The names of its lines stand at the left above, or at the right below.
type panel struct {
	title  string
	y      axis
	series []series
	bounds []bound
	below  bool
}

// series is a line, or, as rug, a row of strokes at the bottom.
type series struct {
	name   string // may be empty
	points []point
	step   bool // the value stays until the next point
	rug    bool
}

type point struct{ x, y int64 }

// bound is a level that is not exceeded.
type bound struct {
	at   int64
	name string
}

// axis is a range and what is written along it.
type axis struct {
	name  string
	from  int64
	to    int64
	every int64 // between two marks
	unit  int64 // what a written 1 is
}

func (a axis) mark(at int64) string {
	if at%a.unit == 0 {
		return strconv.FormatInt(at/a.unit, 10)
	}
	return fmt.Sprintf("%d.%d", at/a.unit, at%a.unit*10/a.unit)
}

// scale is where at lies on a line from the beginning to the end.
func (a axis) scale(at int64, begin, end tenths) tenths {
	return begin + tenths((at-a.from)*int64(end-begin)/(a.to-a.from))
}

// The measures of a chart.
const (
	chartWidth tenths = 7600
	leftEdge   tenths = 560
	rightEdge  tenths = chartWidth - 160
	headRoom   tenths = 300 // above a panel
	footRoom   tenths = 480 // below the last
)

// svg draws the chart. It is an error if a point lies outside its axes.
func (c chart) svg() ([]byte, error) {
	full := tenths(len(c.panels))*(c.height+headRoom) + footRoom
	d := newDrawing(chartWidth, full, c.title, c.description)
	for i, p := range c.panels {
		top := tenths(i)*(c.height+headRoom) + headRoom
		if err := c.panel(d, p, top, top+c.height, i == len(c.panels)-1); err != nil {
			return nil, fmt.Errorf("chart %q: %s: %w", c.title, p.title, err)
		}
	}
	d.text("small", "middle", (leftEdge+rightEdge)/2, full-100, c.x.name)
	return d.bytes(), nil
}

func (c chart) panel(d *drawing, p panel, top, bottom tenths, last bool) error {
	d.text("title", "start", leftEdge, top-90, p.title)
	for at := p.y.from; at <= p.y.to; at += p.y.every {
		y := p.y.scale(at, bottom, top)
		d.line("grid", leftEdge, y, rightEdge, y)
		d.text("small", "end", leftEdge-60, y+40, p.y.mark(at))
	}
	for at := c.x.from; at <= c.x.to; at += c.x.every {
		x := c.x.scale(at, leftEdge, rightEdge)
		d.line("grid", x, top, x, bottom)
		if last {
			d.text("small", "middle", x, bottom+160, c.x.mark(at))
		}
	}
	d.text("small", "end", rightEdge, top-90, p.y.name)
	d.rect("frame", leftEdge, top, rightEdge-leftEdge, bottom-top)
	for _, b := range p.bounds {
		y := p.y.scale(b.at, bottom, top)
		d.line("bound", leftEdge, y, rightEdge, y)
		d.text("boundtext", "end", rightEdge-40, y-40, b.name)
	}
	for i, s := range p.series {
		if i >= colours {
			return fmt.Errorf("more than %d lines", colours)
		}
		spots, err := c.trace(s, p.y, top, bottom)
		if err != nil {
			return err
		}
		class := fmt.Sprintf("line c%d", i)
		d.path(class, spots)
		if s.name != "" {
			x, y := leftEdge+100, top+150+tenths(i)*150
			if p.below {
				x, y = rightEdge-2000, bottom-150*tenths(len(p.series)-i)
			}
			d.line(class, x, y, x+300, y)
			d.text("small", "start", x+360, y+40, s.name)
		}
	}
	return nil
}

// trace turns points into a path, and leaves out those that make no difference.
func (c chart) trace(s series, y axis, top, bottom tenths) ([]spot, error) {
	var path []spot
	for _, p := range s.points {
		if p.x < c.x.from || p.x > c.x.to || p.y < y.from || p.y > y.to {
			return nil, fmt.Errorf("%s: the point %d, %d lies outside", s.name, p.x, p.y)
		}
		to := spot{x: c.x.scale(p.x, leftEdge, rightEdge), y: y.scale(p.y, bottom, top)}
		n := len(path)
		switch {
		case s.rug:
			if n == 0 || path[n-1].x != to.x {
				path = append(path, spot{to.x, bottom, true}, spot{to.x, bottom - 80, false})
			}
		case n == 0:
			path = append(path, to)
		case s.step:
			path = straight(path, spot{x: to.x, y: path[n-1].y})
			path = straight(path, to)
		default:
			path = straight(path, to)
		}
	}
	return path, nil
}

// straight appends a point to a path; one on the way to it from the last but one goes.
func straight(path []spot, to spot) []spot {
	n := len(path)
	if n > 0 && path[n-1] == to {
		return path
	}
	if n > 1 {
		a, b := path[n-2], path[n-1]
		if a.y == b.y && b.y == to.y && b.x <= to.x || a.x == b.x && b.x == to.x && (a.y <= b.y) == (b.y <= to.y) {
			path[n-1] = to
			return path
		}
	}
	return append(path, to)
}
