package admin

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// chart is what became of requests in the last minutes, as lines of an SVG: one unit to the right is a second, one
// upwards is what is drawn, so that the points are the figures themselves.
type chart struct {
	Name   string // what is drawn, for whoever does not see it
	Unit   string // of the figures
	From   time.Time
	Width  int
	Height string // the largest value, above 0
	Most   string // the same as a text; empty: there is nothing to be seen
	Minute []int  // where the grid is
	Lines  []line
}

// line is one line of a chart. Where it is interrupted it has several pieces.
type line struct {
	Class  string
	Title  string
	Blank  string // the figure where it is interrupted
	Pieces []piece
}

// piece is a piece of a line, with the figures of all its seconds: those between two points are as the first.
type piece struct {
	Points string
	Area   string // the same, down to zero
}

// chartOf draws a history's passed and refused requests.
func chartOf(name string, h *History) *chart {
	if h == nil {
		return nil
	}
	most := uint32(0)
	for i := range h.Pass {
		most = max(most, h.Pass[i], h.Block[i])
	}
	c := newChart(name, "/s", h, float64(most), formatCount(int64(most))+"/s")
	c.Lines = []line{
		{Class: "pass", Title: "passed", Blank: "0", Pieces: pieces(h.Pass, around(h.Pass))},
		{Class: "block", Title: "refused", Blank: "0", Pieces: pieces(h.Block, around(h.Block))},
	}
	return c
}

// chartOfRT draws how long the calls took that ended; nil if none did.
func chartOfRT(name string, h *History) *chart {
	if h == nil {
		return nil
	}
	most, any := 0.0, false
	for i, rt := range h.AvgRTMs {
		most, any = max(most, rt), any || h.Success[i] > 0
	}
	if !any {
		return nil
	}
	c := newChart(name, "ms", h, most, formatMillis(most))
	c.Lines = []line{{Class: "rt", Title: "average time", Blank: "none", Pieces: pieces(h.AvgRTMs, func(i int) bool { return h.Success[i] > 0 })}}
	return c
}

// around leaves a line out where it would run along zero, which would look like something.
func around(values []uint32) func(i int) bool {
	return func(i int) bool {
		return values[i] > 0 || i > 0 && values[i-1] > 0 || i+1 < len(values) && values[i+1] > 0
	}
}

func newChart(name, unit string, h *History, most float64, text string) *chart {
	c := &chart{Name: name + ", at most " + text, Unit: unit, From: h.From, Width: len(h.Pass) - 1, Height: "1"}
	if most > 0 {
		c.Height, c.Most = figure(most), text
	}
	// The grid is of whole minutes, so that it moves with the lines.
	for x := int(60-h.From.Unix()%60) % 60; x < len(h.Pass); x += 60 {
		c.Minute = append(c.Minute, x)
	}
	return c
}

// pieces writes values as points, but for those in the middle of a run of equal ones. Where there is no value the line
// is interrupted.
func pieces[T uint32 | float64](values []T, there func(i int) bool) []piece {
	var all []piece
	for i := 0; i < len(values); i++ {
		if !there(i) {
			continue
		}
		end := i
		for end+1 < len(values) && there(end+1) {
			end++
		}
		var b strings.Builder
		for at := i; at <= end; at++ {
			if at == i || at == end || values[at] != values[at-1] || values[at] != values[at+1] {
				fmt.Fprintf(&b, " %d,%s", at, figure(float64(values[at])))
			}
		}
		points := b.String()[1:]
		if i == end { // a single second, which a line would not show
			points += fmt.Sprintf(" %d.5,%s", end, figure(float64(values[end])))
		}
		all = append(all, piece{points, fmt.Sprintf("%d,0 %s %d,0", i, points, end)})
		i = end
	}
	return all
}

func figure(v float64) string {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
