package metrics

import (
	"io"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/internal/clock"
	"github.com/sidecard/sidecard/internal/histogram"
	"github.com/sidecard/sidecard/pkg/engine"
)

const benchRules = `{"gatewayFlowRules": [
	{"id": "route", "resource": "orders", "count": 1000000000},
	{"id": "user", "resource": "orders", "count": 10000000, "sampleCount": 1}
]}`

// BenchmarkDecide is a decision over two rules alone, with what the rate limit service measures of it, and alone
// while another goroutine scrapes without a pause. What the engine itself counts is in all of them; BenchmarkCount of
// pkg/engine is that part.
func BenchmarkDecide(b *testing.B) {
	e := newEngine(b, benchRules)
	m := New(sourcesOf(e.Rules))
	wall := clock.New()
	var turn histogram.Turn
	var took histogram.Histogram
	var answers calls.Answers
	c := engine.Call{Items: []engine.Request{{Resource: "orders", Hits: 1}}}
	at := now
	decide := func() {
		e.Decide(at, &c)
		at += 20_000
	}
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			decide()
		}
	})
	b.Run("measured", func(b *testing.B) {
		b.ReportAllocs()
		began := wall.Now()
		for b.Loop() {
			decide()
			if turn.Next() {
				took.Observe(time.Duration(wall.Now() - began))
			}
			answers.Count(c.Overall)
		}
	})
	b.Run("while scraped", func(b *testing.B) {
		stop := make(chan struct{})
		var scraping sync.WaitGroup
		scraping.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					m.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil))
				}
			}
		})
		for b.Loop() {
			decide()
		}
		close(stop)
		scraping.Wait()
	})
}

// BenchmarkScrape is a scrape of a thousand rules.
func BenchmarkScrape(b *testing.B) {
	rules := make([]engine.RuleState, 1000)
	for i := range rules {
		rules[i] = keyed(counted("", string(rune('a'+i%26))+string(rune('a'+i/26)), "orders", int64(i)), 5)
	}
	h := newMetrics(rules...).Handler()
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		io.Copy(io.Discard, w.Body)
	}
}
