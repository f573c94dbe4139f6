package metrics

import "github.com/sidecard/sidecard/internal/histogram"

// Calls are counts that belong to no rule, since the start of the daemon but for Waiting.
type Calls struct {
	Ways             []Way                // that calls come in, each once
	Unmatched        map[string]Unmatched // by domain
	Invalid          int64                // requests refused as malformed
	Cancelled        int64                // calls that the caller had given up, so that their charge was given back
	OverridesIgnored int64                // descriptors whose limit override had no effect
	Waiting          int64                // calls that a rule makes wait at the moment
	WaitingRefused   int64                // calls refused because as many were waiting as may
}

// Way is how calls that came one way were answered.
type Way struct {
	API     string // a fixed word, as it becomes a label
	Passed  int64
	Refused int64 // by rules
	Unready int64 // not decided for want of rules
}

// Unmatched is what no rule of a domain applied to.
type Unmatched struct {
	Requests int64
	Calls    int64 // without any request that a rule applied to
}

// Durations are where those who decide put how long it took. All are required.
type Durations struct {
	Decisions *histogram.Histogram
	Waits     *histogram.Histogram
}

// Spans are counts of spans, since the start of the daemon.
type Spans struct {
	Ended    int64
	Exported int64 // that the collector took
	Failed   int64 // that it did not take
}

func (s scrape) spans(n Spans) {
	s.set(spans, float64(n.Ended), "ended")
	s.set(spans, float64(n.Exported), "exported")
	s.set(spans, float64(n.Failed), "failed")
}

// calls shows what belongs to no rule.
func (s scrape) calls(c Calls) {
	for _, w := range c.Ways {
		s.set(answered, float64(w.Passed), w.API, "pass")
		s.set(answered, float64(w.Refused), w.API, "block")
		s.set(unready, float64(w.Unready), w.API)
	}
	byDomain := make(map[string]Unmatched, len(c.Unmatched))
	for domain, n := range c.Unmatched {
		u := byDomain[label(domain)]
		byDomain[label(domain)] = Unmatched{u.Requests + n.Requests, u.Calls + n.Calls}
	}
	for domain, u := range byDomain {
		s.set(unmatched, float64(u.Requests), domain)
		s.set(unmatchedCalls, float64(u.Calls), domain)
	}
	s.set(invalid, float64(c.Invalid))
	s.set(cancelled, float64(c.Cancelled))
	s.set(overridesIgnored, float64(c.OverridesIgnored))
	s.set(waiting, float64(c.Waiting))
	s.set(waitingRefused, float64(c.WaitingRefused))
}
