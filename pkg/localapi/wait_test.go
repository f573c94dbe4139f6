package localapi

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

const queueBody = `{"resource": "queue"}`

// gaveUp is what those are answered who have left. It must not be nothing: net/http makes 200 of that, which whoever
// has only closed his way to send would take for leave to go on.
const gaveUp = `503 {"error":"given up by the caller before it was answered: context canceled"}`

// Answers come at their time, or are refused at the end of a drain; whoever leaves keeps nothing.
func TestHeldAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		began := time.Now()
		got := make(map[string]string)
		results := make(chan [2]string)
		asked := 0
		ask := func(ctx context.Context, name, target, body string) {
			asked++
			go func() {
				a := w.send(ctx, http.MethodPost, target, body)
				results <- [2]string{name, fmt.Sprintf("%v %v", time.Since(began), a)}
			}()
			synctest.Wait()
		}
		leaving, leave := context.WithCancel(t.Context())
		ask(t.Context(), "first", "/v1/decide", queueBody)
		ask(t.Context(), "second", "/v1/decide", queueBody)
		ask(t.Context(), "impatient", "/v1/decide", `{"resource": "queue", "maxWaitMs": 999}`)
		ask(t.Context(), "begins", "/v1/acquire", queueBody)
		ask(leaving, "leaves", "/v1/decide", queueBody)
		ask(t.Context(), "look", "/v1/decide", `{"resource": "queue", "peek": true}`)
		if n := w.counters.Waiting.Load(); n != 3 {
			t.Errorf("%d wait, want 3", n)
		}
		leave()
		synctest.Wait()
		ask(t.Context(), "after", "/v1/decide", queueBody)
		ask(t.Context(), "too late", "/v1/decide", queueBody)
		w.room.Drain(1600 * time.Millisecond)
		for range asked {
			r := <-results
			got[r[0]] = r[1]
		}
		for name, want := range map[string]string{
			"first":     `0s 200 {"allowed":true,"code":"pass","rule":"queue","limit":2,"remaining":2}`,
			"second":    `500ms 200 {"allowed":true,"code":"pass","rule":"queue","limit":2,"remaining":2}`,
			"impatient": `0s 200 {"allowed":false,"code":"block","rule":"queue","reason":"deadline","limit":2,"remaining":0,"retryAfterMs":1}`,
			"begins":    `1s 200 {"allowed":true,"code":"pass","rule":"queue","limit":2,"remaining":2}`,
			"leaves":    `0s ` + gaveUp,
			"look":      `0s 200 {"allowed":true,"code":"wait","rule":"queue","limit":2,"remaining":2,"waitMs":2000}`,
			"after":     `1.5s 200 {"allowed":true,"code":"pass","rule":"queue","limit":2,"remaining":2}`,
			"too late":  `1.6s 200 {"allowed":false,"code":"block","rule":"queue","reason":"deadline","limit":2,"remaining":0,"retryAfterMs":400}`,
		} {
			if got[name] != want {
				t.Errorf("%s:\n got %s\nwant %s", name, got[name], want)
			}
		}
		if w.counters.Waiting.Load() != 0 || w.counters.Cancelled.Load() != 1 {
			t.Errorf("%d wait, %d are counted as cancelled", w.counters.Waiting.Load(), w.counters.Cancelled.Load())
		}
	})
}
