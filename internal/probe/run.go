// Package probe asks a daemon for more than its rules allow, as Envoy would, and says whether the bounds that the rules
// publish held.
package probe

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/sidecard/sidecard/internal/terminal"
)

const (
	pace    = 10 * time.Millisecond // how often calls that are due are sent
	atATime = 512                   // calls without an answer
	patient = 2 * time.Second       // for an answer: longer than most queues
)

// Config says what a probe does. All is required.
type Config struct {
	Rules  []Rule  // that limit the calls
	Rate   float64 // calls a second
	Length time.Duration
	Hits   int64 // of each call, from 1 to 2^31-1
	// Send asks once, and says whether the call passed. It is called by many goroutines at a time.
	Send func(context.Context) (passed bool, err error)
}

// probe asks at a rate for a time.
type probe struct {
	Config

	mu     sync.Mutex // guards what follows
	passed []shot
	sum    Second
	first  error // of the first call that failed
}

// Second is what became of the calls in one second, or in all. Those that were sent need not be those that were
// answered.
type Second struct {
	Sent    int64 `json:"sent"`
	Passed  int64 `json:"passed"`
	Limited int64 `json:"limited"`
	Failed  int64 `json:"failed"` // without an answer, or with an error
}

func (s Second) minus(o Second) Second {
	return Second{s.Sent - o.Sent, s.Passed - o.Passed, s.Limited - o.Limited, s.Failed - o.Failed}
}

// Result is what came of a probe.
type Result struct {
	Rate    float64      `json:"rate"` // calls a second that were meant to be sent
	Hits    int64        `json:"hits"`
	Seconds []Second     `json:"seconds"`
	Total   Second       `json:"total"`
	Rules   []RuleResult `json:"rules"`
	Held    bool         `json:"held"` // all bounds

	first error
}

// RuleResult says of one rule whether its bound held.
type RuleResult struct {
	Rule        string `json:"rule"`
	Limit       int64  `json:"limit"`
	IntervalSec int64  `json:"intervalSec,omitempty"` // absent: of calls under way
	Bound       string `json:"bound"`
	Most        int64  `json:"most"`   // that may pass
	Passed      int64  `json:"passed"` // the most that surely did, in the bound's time
	Held        bool   `json:"held"`
}

// Run asks, writes a line each second to w, and says what came of it. The error is that ctx was done before the time was
// over. When it returns, no goroutine that it started is left.
func Run(ctx context.Context, w io.Writer, c Config) (Result, error) {
	p := &probe{Config: c}
	fmt.Fprintf(w, "Asking for %.4g calls a second for %v. This takes real budget of:\n", p.Rate, p.Length)
	for i := range p.Rules {
		r := &p.Rules[i]
		fmt.Fprintf(w, "  %s: %s, at most %s\n", terminal.Printable(r.id), r.limits(), r.bound.String())
	}
	fmt.Fprintf(w, "%6s  %7s  %7s  %7s  %7s\n", "second", "sent", "passed", "limited", "failed")
	result := Result{Rate: p.Rate, Hits: p.Hits, Seconds: []Second{}}
	var before Second
	second := func() {
		p.mu.Lock()
		now := p.sum
		p.mu.Unlock()
		row := now.minus(before)
		before = now
		result.Seconds = append(result.Seconds, row)
		fmt.Fprintf(w, "%6d  %7d  %7d  %7d  %7d\n", len(result.Seconds), row.Sent, row.Passed, row.Limited, row.Failed)
	}
	if err := p.ask(ctx, second); err != nil {
		return result, err
	}
	if before != p.sum || len(result.Seconds) == 0 {
		second() // what was sent or answered since the last whole second
	}
	result.Total, result.Held, result.first = p.sum, true, p.first
	for i := range p.Rules {
		of := p.Rules[i].judge(p.passed, p.Hits)
		result.Rules = append(result.Rules, of)
		result.Held = result.Held && of.Held
	}
	result.write(w)
	return result, nil
}

// ask sends the calls and waits for their answers. It calls second after each.
func (p *probe) ask(ctx context.Context, second func()) error {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	var calls sync.WaitGroup
	defer calls.Wait()
	room := make(chan struct{}, atATime)
	begun := time.Now()
	for sent, seconds := 0, 1; ; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("told to stop before %v were over", p.Length)
		case <-tick.C:
		}
		elapsed := time.Since(begun)
		for due := int(elapsed.Seconds() * p.Rate); sent < due; {
			select {
			case room <- struct{}{}:
				sent++
				p.mu.Lock()
				p.sum.Sent++
				p.mu.Unlock()
				calls.Go(func() {
					p.call(ctx, begun)
					<-room
				})
				continue
			default:
			}
			break // the daemon is slower than this, and is asked as fast as it answers
		}
		if elapsed >= time.Duration(seconds)*time.Second {
			second()
			seconds++
		}
		if elapsed >= p.Length {
			return nil
		}
	}
}

// call sends one call and notes what became of it.
func (p *probe) call(ctx context.Context, begun time.Time) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	s := shot{sent: time.Since(begun)}
	passed, err := p.Send(ctx)
	s.answered = time.Since(begun)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		p.sum.Failed++
		if p.first == nil {
			p.first = err
		}
	case passed:
		p.sum.Passed++
		p.passed = append(p.passed, s)
	default:
		p.sum.Limited++
	}
}

// write says whether the bounds held.
func (r *Result) write(w io.Writer) {
	for _, of := range r.Rules {
		verdict := "held"
		if !of.Held {
			verdict = "NOT HELD"
		}
		fmt.Fprintf(w, "%s: %d passed where at most %s may: %s\n", terminal.Printable(of.Rule), of.Passed, of.Bound, verdict)
	}
	if r.Total.Limited+r.Total.Failed == 0 && r.Held {
		fmt.Fprintln(w, "Nothing was limited: the probe did not reach the limit, so this says little. Ask faster with --rate, or for longer with --for.")
	}
	if r.Total.Passed == 0 && r.Total.Limited > 0 && slices.ContainsFunc(r.Rules, func(of RuleResult) bool { return of.Most > 0 }) {
		fmt.Fprintln(w, "Nothing passed: something else refuses these calls, an open breaker perhaps, so this says little. sidecard explain --addr tells what.")
	}
	if r.Total.Failed > 0 {
		fmt.Fprintf(w, "%d calls failed, the first with: %s\n", r.Total.Failed, terminal.Printable(r.first.Error()))
	}
}

// Unanswered returns why no call at all was answered; nil if one was.
func (r *Result) Unanswered() error {
	if r.Total.Failed > 0 && r.Total.Failed == r.Total.Sent {
		return fmt.Errorf("no call was answered: %w", r.first)
	}
	return nil
}
