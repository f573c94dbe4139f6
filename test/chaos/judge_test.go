package chaos

import (
	"errors"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// run is a run that is made up: requests one millisecond apart, all refused unless something else is said.
type run struct {
	replies  []envoytest.Reply
	arrivals []envoytest.Arrival
	next     map[string]int // the next request of a budget
}

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }

func newRun(n int) *run {
	r := &run{next: make(map[string]int)}
	for i := range n {
		r.replies = append(r.replies, envoytest.Reply{Sent: at(i), Done: at(i + 1), Status: http.StatusTooManyRequests, Rule: "some"})
	}
	return r
}

// pass lets the next n requests of a budget pass, by rule ("": by none).
func (r *run) pass(of string, n int, rule string) *run {
	for ; n > 0; r.next[of]++ {
		i := r.next[of]
		if name, _ := budget(i); name != of {
			continue
		}
		r.replies[i].Status, r.replies[i].Rule = http.StatusOK, rule
		r.arrivals = append(r.arrivals, envoytest.Arrival{Note: note(i), At: at(i + 1)})
		n--
	}
	return r
}

// lose loses the answers to n requests of a budget that arrive all the same.
func (r *run) lose(of string, n int) *run {
	first := len(r.arrivals)
	r.pass(of, n, "")
	for i := range r.replies {
		for _, a := range r.arrivals[first:] {
			if a.Note == note(i) {
				r.replies[i] = envoytest.Reply{Sent: at(i), Done: at(i + 1), Err: errors.New("reset")}
			}
		}
	}
	return r
}

// What the runs are worth is what is noticed here.
func TestJudge(t *testing.T) {
	t.Parallel()
	one, two := []life{{}}, []life{{to: at(2000)}, {from: at(2010)}}
	for _, c := range []struct {
		name       string
		run        *run
		lives      []life
		wrong      map[string]int
		letThrough int
		failed     int
	}{
		{"all refused", newRun(4000), one, nil, 0, 0},
		{"budgets used up", newRun(4000).pass("hourly", 40, "hourly").pass("session s0", 5, "session").pass("second", 20, "second"), one, nil, 0, 0},
		{"one pass where nothing may", newRun(4000).pass("closed", 1, "closed"), one, map[string]int{"closed": 1}, 0, 0},
		{"one more than an hour has", newRun(4000).pass("hourly", 41, "hourly"), one, map[string]int{"hourly": 1}, 0, 0},
		{"one more than a session has", newRun(4000).pass("session s3", 6, "session"), one, map[string]int{"session s3": 1}, 0, 0},
		{"three more within a second", newRun(4000).pass("second", 23, "second"), one, map[string]int{"second": 3}, 0, 0},
		{"a second budget for a second daemon", newRun(4000).pass("hourly", 80, "hourly"), two, nil, 0, 0},
		{"no third for two", newRun(4000).pass("hourly", 81, "hourly"), two, map[string]int{"hourly": 1}, 0, 0},
		{"nothing where nothing may, by two", newRun(4000).pass("closed", 1, "closed"), two, map[string]int{"closed": 1}, 0, 0},
		{"let through by Envoy", newRun(4000).pass("closed", 30, "").pass("hourly", 50, ""), one, nil, 80, 0},
		{"answers lost", newRun(4000).lose("closed", 2).pass("hourly", 39, "hourly").lose("hourly", 2), one, map[string]int{"closed": 2, "hourly": 1}, 0, 4},
	} {
		got := judge(c.run.replies, c.run.arrivals, c.lives)
		sum := 0
		for _, n := range c.wrong {
			sum += n
		}
		if !maps.Equal(got.wrong, c.wrong) || got.letThrough != c.letThrough || got.failed != c.failed || got.sent != 4000 || got.wrongly() != sum {
			t.Errorf("%s: got %+v, want %v wrong, %d let through, %d failed", c.name, got, c.wrong, c.letThrough, c.failed)
		}
	}
}

// What was decided by one daemon or by the next is no fault of either, what each decided alone is.
func TestJudgeTellsLivesApart(t *testing.T) {
	t.Parallel()
	r := newRun(4000)
	r.next["second"] = 1930
	r.pass("second", 40, "second") // from 1930 to 2090 ms
	for _, c := range []struct {
		lives []life
		wrong int
	}{
		{[]life{{}}, 20},
		{[]life{{to: at(2010)}, {from: at(2011)}}, 0},
		{[]life{{to: at(2050)}, {from: at(2051)}}, 10},
		{[]life{{to: at(1900)}, {from: at(2100)}}, 0},
	} {
		if got := judge(r.replies, r.arrivals, c.lives).wrong["second"]; got != c.wrong {
			t.Errorf("%v: got %d wrong, want %d", c.lives, got, c.wrong)
		}
	}
}
