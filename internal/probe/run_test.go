package probe

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sidecard/sidecard/internal/ruleview"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// took is how long an answer takes: not a whole number of paces, so that none comes at the moment of a report.
const took = pace / 3

// tenASecond lets n calls pass at the beginning of each second.
func tenASecond(n int) func(context.Context) (bool, error) {
	begun := time.Now()
	room, second := n, time.Duration(0)
	turn := make(chan struct{}, 1)
	return func(context.Context) (bool, error) {
		<-time.After(took)
		turn <- struct{}{}
		defer func() { <-turn }()
		if now := time.Since(begun).Truncate(time.Second); now != second {
			second, room = now, n
		}
		room--
		return room >= 0, nil
	}
}

var ten = Rule{id: "ten", limit: 10, interval: time.Second, bound: ruleview.Bound{Most: 20, IntervalSec: 1}, within: time.Second}

func TestRun(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		send func() func(context.Context) (bool, error)
		rate float64
		held bool
	}{
		{"held", func() func(context.Context) (bool, error) { return tenASecond(10) }, 30, true},
		{"not-held", func() func(context.Context) (bool, error) { return tenASecond(25) }, 50, false},
		{"not-reached", func() func(context.Context) (bool, error) { return tenASecond(10) }, 4, true},
		{"refused", func() func(context.Context) (bool, error) { return tenASecond(0) }, 10, true},
		{"failing", func() func(context.Context) (bool, error) {
			return func(context.Context) (bool, error) { <-time.After(took); return false, errors.New("no\x1b daemon") }
		}, 10, true},
		// Each call takes longer than anybody waits for it, and all places are taken.
		{"stuck", func() func(context.Context) (bool, error) {
			return func(ctx context.Context) (bool, error) {
				<-ctx.Done()
				<-time.After(took)
				return false, ctx.Err()
			}
		}, 1000, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var b bytes.Buffer
				got, err := Run(t.Context(), &b, Config{Rules: []Rule{ten}, Rate: tc.rate, Length: 2500 * time.Millisecond, Hits: 1, Send: tc.send()})
				if err != nil || got.Held != tc.held {
					t.Errorf("got %+v, %v", got, err)
				}
				if unanswered := got.Unanswered() != nil; unanswered != (got.Total.Passed+got.Total.Limited == 0) {
					t.Errorf("unanswered: %v, of %+v", unanswered, got.Total)
				}
				golden(t, tc.name, b.Bytes())
			})
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name + ".txt"
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestToldToStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		var b bytes.Buffer
		_, err := Run(ctx, &b, Config{Rules: []Rule{ten}, Rate: 10, Length: time.Minute, Hits: 1, Send: tenASecond(10)})
		if err == nil || err.Error() != "told to stop before 1m0s were over" {
			t.Errorf("got %v", err)
		}
	})
}
