package main

import (
	"runtime/debug"
	"time"

	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/internal/metrics"
	"github.com/sidecard/sidecard/pkg/rule"
)

// sources says where a scrape reads.
func (d *daemon) sources() metrics.Sources {
	info, _ := debug.ReadBuildInfo()
	return metrics.Sources{
		Now:            d.clock.Now,
		Rules:          d.engine.Rules,
		Resources:      d.engine.ResourceTotals,
		ResourceCounts: d.engine.ResourceCounts,
		Keys:           d.keys,
		Calls:          d.callCounts,
		Tokens:         d.engine.Tokens,
		Spans:          d.spans,
		Durations:      metrics.Durations{Decisions: &d.counts.Durations, Waits: &d.counts.Waits},
		Connections:    d.sockets.connections,
		WaitingLimit:   d.room.Max(),
		Build:          buildOf(version, info),
		Certificates:   d.sockets.certificates,
	}
}

// keys reads how many parameter values all rules hold.
func (d *daemon) keys() metrics.Keys {
	held, most := d.engine.KeyTotals()
	return metrics.Keys{Held: held, Most: most}
}

// callCounts reads what was counted of calls.
func (d *daemon) callCounts() metrics.Calls {
	c := metrics.Calls{
		Ways: []metrics.Way{
			wayOf("envoy", &d.counts.Envoy), wayOf("grpc", &d.counts.GRPC), wayOf("http", &d.counts.HTTP),
		},
		Unmatched:        make(map[string]metrics.Unmatched),
		Invalid:          d.counts.Invalid.Load(),
		Cancelled:        d.counts.Cancelled.Load(),
		OverridesIgnored: d.counts.OverridesIgnored.Load(),
		Waiting:          d.counts.Waiting.Load(),
		WaitingRefused:   d.counts.WaitingRefused.Load(),
	}
	for domain, n := range d.counts.Unmatched {
		c.Unmatched[domain] = metrics.Unmatched{Requests: n.Requests, Calls: n.Calls}
	}
	return c
}

func wayOf(api string, a *calls.Answers) metrics.Way {
	return metrics.Way{API: api, Passed: a.Passed.Load(), Refused: a.Refused.Load(), Unready: a.Unready.Load()}
}

// timed returns apply with its time shown as that of the newest reload.
func (d *daemon) timed(apply func([]rule.File) error) func([]rule.File) error {
	return func(files []rule.File) error {
		from := d.clock.Now()
		defer func() { d.metrics.Took(time.Duration(d.clock.Now() - from)) }()
		return apply(files)
	}
}
