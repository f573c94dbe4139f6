package ratelimitsvc

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	queue := describe(pairs("route", "queue"))
	for name, c := range map[string]struct {
		limit time.Duration
		want  []string // of five calls at 0 and two at 300 ms; Drain is called at 200 ms
	}{
		"answered at their time up to the limit, then refused": {1300 * time.Millisecond, []string{
			"0s-0s OK: OK 2/2 1s", "0s-500ms OK: OK 2/2 1s", "0s-1s OK: OK 2/2 1s", "0s-1.5s OK: OK 2/2 1s", "0s-1.5s OVER_LIMIT: OVER_LIMIT 0/2 1s",
			"300ms-300ms OVER_LIMIT: OVER_LIMIT 0/2 1s", "300ms-300ms OVER_LIMIT: OVER_LIMIT 0/2 1s"}},
		"long enough for all": {time.Hour, []string{
			"0s-0s OK: OK 2/2 1s", "0s-500ms OK: OK 2/2 1s", "0s-1s OK: OK 2/2 1s", "0s-1.5s OK: OK 2/2 1s", "0s-2s OK: OK 2/2 1s",
			"300ms-2.5s OK: OK 2/2 1s", "300ms-3s OK: OK 2/2 1s"}},
		"at once": {0, []string{
			"0s-0s OK: OK 2/2 1s", "0s-200ms OVER_LIMIT: OVER_LIMIT 0/2 1s", "0s-200ms OVER_LIMIT: OVER_LIMIT 0/2 1s", "0s-200ms OVER_LIMIT: OVER_LIMIT 0/2 2s", "0s-200ms OVER_LIMIT: OVER_LIMIT 0/2 2s",
			"", ""}}, // depends on the order in which the others gave their places back
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := newVisits(t, 0)
				var got []*visit
				for range 5 {
					got = append(got, v.start(t.Context(), queue))
				}
				time.Sleep(200 * time.Millisecond)
				v.w.room.Drain(c.limit)
				v.w.room.Drain(0) // without effect
				time.Sleep(100 * time.Millisecond)
				for range 2 {
					got = append(got, v.start(t.Context(), queue))
				}
				v.done()
				for i, want := range c.want {
					if want != "" && got[i].String() != want {
						t.Errorf("call %d: got %q, want %q", i, got[i], want)
					}
					refused := got[i].body != ""
					var body struct {
						Rule, Reason      string
						RetryAfterSeconds int
					}
					if !refused {
						continue
					}
					if err := json.Unmarshal([]byte(got[i].body), &body); err != nil || body.Rule != "queue" || body.Reason != "deadline" || body.RetryAfterSeconds < 1 {
						t.Errorf("call %d: got body %s, %v", i, got[i].body, err)
					}
				}
				if n := v.w.counters.Cancelled.Load(); n != 0 {
					t.Errorf("%d counted as given up", n)
				}
			})
		})
	}
}
