package envoytest

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func span(status int, sentMs, doneMs int64) Reply {
	return Reply{Sent: time.UnixMilli(sentMs), Done: time.UnixMilli(doneMs), Status: status}
}

func TestMostWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		replies []Reply
		want    int
	}{
		{"none", nil, 0},
		{"only refusals", []Reply{span(429, 0, 1)}, 0},
		{"all inside", []Reply{span(200, 0, 1), span(200, 5, 6), span(200, 999, 1000)}, 3},
		{"the last answer comes too late", []Reply{span(200, 0, 1), span(200, 999, 1001)}, 1},
		{"the densest second is not the first", []Reply{span(200, 0, 1), span(200, 1500, 1501), span(200, 2400, 2401)}, 2},
		{"a long span hides behind none", []Reply{span(200, 0, 5000), span(200, 10, 20), span(200, 30, 40)}, 2},
		{"unsorted", []Reply{span(200, 900, 901), span(200, 0, 1), span(200, 950, 2000)}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := MostWithin(c.replies, time.Second); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// An admitter that is right at the moment of its decision is never accused, wherever in its span
// each decision fell.
func TestMostWithinNeverAccusesTheInnocent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		decided := rapid.SliceOfN(rapid.Int64Range(0, 5000), 1, 60).Draw(t, "decided")
		var admitted []int64
		var replies []Reply
		for _, at := range decided {
			n := 0
			for _, other := range admitted {
				if d := at - other; d <= 1000 && d >= -1000 {
					n++
				}
			}
			if n >= limit {
				continue
			}
			admitted = append(admitted, at)
			before := rapid.Int64Range(0, 300).Draw(t, "before")
			after := rapid.Int64Range(0, 300).Draw(t, "after")
			replies = append(replies, span(200, at-before, at+after))
		}
		if got := MostWithin(replies, time.Second); got > limit {
			t.Fatalf("got %d, limit %d", got, limit)
		}
	})
}

func TestCount(t *testing.T) {
	t.Parallel()
	limited := span(429, 0, 1)
	limited.Rule = "r"
	got := Count([]Reply{span(200, 0, 1), limited, limited, span(500, 0, 1), {Err: errors.New("refused")}})
	if got.Sent != 5 || got.Passed != 1 || got.Limited != 2 || got.Other != 2 || got.LimitedBy["r"] != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestDecidingRule(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		`100, 100;w=1;name="orders-100"`: "orders-100",
		`100, 100;w=1`:                   "",
		``:                               "",
	} {
		if got := DecidingRule(http.Header{"X-Ratelimit-Limit": {header}}); got != want {
			t.Errorf("%s: got %q, want %q", header, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	if got := Span([]Reply{span(200, 50, 70), span(429, 10, 20), span(200, 30, 90)}); got != 80*time.Millisecond {
		t.Errorf("got %s, want 80ms", got)
	}
	if got := Span(nil); got != 0 {
		t.Errorf("of nothing: got %s", got)
	}
}
