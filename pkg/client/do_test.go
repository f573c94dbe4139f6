package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// scripted is a daemon that tells every call to wait, and notes what it is asked.
type scripted struct {
	wait  time.Duration
	slow  time.Duration // how long the answer of acquire takes
	asked []string
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.asked = append(s.asked, strings.TrimPrefix(r.URL.Path, "/v1/")+" "+string(body))
	if s.slow > 0 && r.URL.Path == "/v1/acquire" {
		select {
		case <-time.After(s.slow):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	text := fmt.Sprintf(`{"allowed":true,"code":"wait","waitMs":%d,"token":"t"}`, s.wait.Milliseconds())
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text))}, nil
}

// Do waits its turn, tells how long it is ready to, and gives up with its context.
func TestDoWaits(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	for name, c := range map[string]struct {
		deadline, gone time.Duration // 0: none
		fails          error
		took           time.Duration
		err            error
		asked          string // what was asked, " | " in between
	}{
		"its turn":      {took: 1700 * time.Millisecond, asked: `acquire {"resource":"r","tellWait":true} | complete {"token":"t","rtMs":200}`},
		"a failure":     {fails: failure, took: 1700 * time.Millisecond, err: failure, asked: `acquire {"resource":"r","tellWait":true} | complete {"token":"t","error":true,"rtMs":200}`},
		"a deadline":    {deadline: 5 * time.Second, took: 1700 * time.Millisecond, asked: `acquire {"resource":"r","maxWaitMs":5000,"tellWait":true} | complete {"token":"t","rtMs":200}`},
		"gone too soon": {gone: time.Second, took: time.Second, err: context.Canceled, asked: `acquire {"resource":"r","tellWait":true} | complete {"token":"t","aborted":true}`},
		"gone while f runs": {gone: 1600 * time.Millisecond, took: 1700 * time.Millisecond,
			asked: `acquire {"resource":"r","tellWait":true} | complete {"token":"t","rtMs":200}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				daemon := &scripted{wait: 1500 * time.Millisecond}
				client := &Client{base: "http://sidecard", http: &http.Client{Transport: daemon}}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.deadline > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				if c.gone > 0 {
					time.AfterFunc(c.gone, cancel)
				}
				began := time.Now()
				err := client.Do(ctx, "r", nil, func() error {
					time.Sleep(200 * time.Millisecond)
					return c.fails
				})
				if took := time.Since(began); took != c.took || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
					t.Errorf("got %v after %v, want %v after %v", err, took, c.err, c.took)
				}
				if got := strings.Join(daemon.asked, " | "); got != c.asked {
					t.Errorf("asked %s\nwant  %s", got, c.asked)
				}
			})
		})
	}
}

// overdue is a context whose deadline has passed, and whose timer has not noticed.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

// Who has no time left does not wait; 0 would be as long as the rules want.
func TestDoWithoutTime(t *testing.T) {
	t.Parallel()
	daemon := &scripted{}
	client := &Client{base: "http://sidecard", http: &http.Client{Transport: daemon}}
	if err := client.Do(overdue{t.Context()}, "r", nil, func() error { return nil }); err != nil {
		t.Error(err)
	}
	if len(daemon.asked) == 0 || daemon.asked[0] != `acquire {"resource":"r","maxWaitMs":0,"tellWait":true}` {
		t.Errorf("asked %q", daemon.asked)
	}
}

// Whoever gives up while he asks keeps no place, as long as the answer comes soon.
func TestAcquireGivenUp(t *testing.T) {
	t.Parallel()
	const acquire, complete = `acquire {"resource":"r"}`, ` | complete {"token":"t","aborted":true}`
	for name, c := range map[string]struct {
		gone, slow, took time.Duration
		asked            string
	}{
		"before":              {asked: ``},
		"meanwhile":           {gone: 20 * time.Millisecond, slow: 50 * time.Millisecond, took: 50 * time.Millisecond, asked: acquire + complete},
		"nobody answers soon": {gone: 20 * time.Millisecond, slow: time.Minute, took: 20*time.Millisecond + lingering, asked: acquire},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				daemon := &scripted{slow: c.slow}
				client := &Client{base: "http://sidecard", http: &http.Client{Transport: daemon}}
				ctx, cancel := context.WithCancelCause(t.Context())
				why := errors.New("why")
				if c.gone == 0 {
					cancel(why)
				}
				time.AfterFunc(c.gone, func() { cancel(why) })
				began := time.Now()
				d, err := client.Acquire(ctx, Request{Resource: "r"})
				if took := time.Since(began); took != c.took || !errors.Is(err, why) || d != (Decision{}) {
					t.Errorf("got %+v, %v after %v, want %v after %v", d, err, took, why, c.took)
				}
				if got := strings.Join(daemon.asked, " | "); got != c.asked {
					t.Errorf("asked %s\nwant  %s", got, c.asked)
				}
			})
		})
	}
}
