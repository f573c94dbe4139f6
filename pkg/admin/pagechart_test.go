package admin

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// naiveFigure looks up a second as the page's script does: in the piece that covers it, the last point not after it.
func naiveFigure(t *rapid.T, all []piece, second int) (float64, bool) {
	for _, p := range all {
		points := strings.Fields(p.Points)
		number := func(text string) float64 {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		split := func(point string) (float64, float64) {
			x, y, _ := strings.Cut(point, ",")
			return number(x), number(y)
		}
		first, _ := split(points[0])
		last, _ := split(points[len(points)-1])
		if float64(second) < first || float64(second) > last {
			continue
		}
		var found float64
		for _, point := range points {
			if x, y := split(point); x <= float64(second) {
				found = y
			}
		}
		return found, true
	}
	return 0, false
}

// However few points a line is drawn with, each second's figure is in it.
func TestLinesHoldAllFigures(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SampledFrom([]uint32{0, 0, 0, 7, 7, 9, 4_000_000_000}), 1, 40).Draw(t, "values")
		line := pieces(values, around(values))
		for second, want := range values {
			got, ok := naiveFigure(t, line, second)
			if got != float64(want) || !ok && want != 0 {
				t.Fatalf("second %d: got %v %v, want %d in %v", second, got, ok, want, line)
			}
		}
	})
}

func TestChartsLeaveOutWhatIsNothing(t *testing.T) {
	t.Parallel()
	h := &History{From: time.Unix(start/1e9-5, 0), Pass: []uint32{0, 0, 5, 5, 5}, Block: make([]uint32, 5), Success: []uint32{0, 1, 0, 2, 2}, Error: make([]uint32, 5), AvgRTMs: []float64{0, 20, 0, 1.5, 0.126}}
	c := chartOf("orders", h)
	if got := c.Lines[0].Pieces; len(got) != 1 || got[0].Points != "1,0 2,5 4,5" || got[0].Area != "1,0 1,0 2,5 4,5 4,0" {
		t.Errorf("got %+v", got)
	}
	if got := c.Lines[1].Pieces; len(got) != 0 {
		t.Errorf("a line of nothing: %+v", got)
	}
	if c.Height != "5" || c.Most != "5/s" || c.Width != 4 || c.Name != "orders, at most 5/s" {
		t.Errorf("got %+v", c)
	}
	rt := chartOfRT("orders", h)
	if got := rt.Lines[0].Pieces; len(got) != 2 || got[0].Points != "1,20 1.5,20" || got[1].Points != "3,1.5 4,0.13" {
		t.Errorf("got %+v", got)
	}
	if chartOf("none", nil) != nil || chartOfRT("none", nil) != nil || chartOfRT("none", &History{Pass: make([]uint32, 3), Success: make([]uint32, 3), AvgRTMs: make([]float64, 3)}) != nil {
		t.Error("a chart of nothing")
	}
	if c := chartOf("none", &History{Pass: make([]uint32, 3), Block: make([]uint32, 3)}); c.Height != "1" || c.Most != "" {
		t.Errorf("got %+v", c)
	}
}
