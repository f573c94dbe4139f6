package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sidecard/sidecard/bench/h2load"
)

const (
	starts     = 5    // how often each start is timed
	otherRules = 1000 // rules of other routes in the second kind of start
)

// sides are the figures beside the loads, per server.
type sides struct {
	start     [2][]float64 // ms from start to the first answer
	startFull [2][]float64 // the same with otherRules more; none for the plain server
	idle      [2]float64   // MiB resident after the first answer
	loaded    [2]float64   // after all loads
	filled    [2]float64   // with options.fill live keys in one rule; 0 if not measured
	noRoom    [2]int64     // how many of these keys found no room
	fill      int
}

func measureSide(ctx context.Context, dir string, subjects [2]subject, c cores, o options) (*sides, error) {
	few, many, long := filepath.Join(dir, "few"), filepath.Join(dir, "many"), filepath.Join(dir, "long")
	if err := errors.Join(writeRules(few, 1, 0), writeRules(many, 1, otherRules), writeRules(long, 3600, 0)); err != nil {
		return nil, err
	}
	m := &sides{fill: o.fill}
	socket := filepath.Join(dir, "side")
	for i, s := range subjects {
		for range starts {
			ms, mib, err := timeStart(ctx, s, socket, few, c)
			if err != nil {
				return nil, fmt.Errorf("starting %s: %w", s.name, err)
			}
			m.start[i], m.idle[i] = append(m.start[i], ms), mib
			if !s.daemon {
				continue
			}
			if ms, _, err = timeStart(ctx, s, socket, many, c); err != nil {
				return nil, fmt.Errorf("starting %s with %d rules: %w", s.name, otherRules+2, err)
			}
			m.startFull[i] = append(m.startFull[i], ms)
		}
		if s.daemon && o.fill > 0 {
			var err error
			if m.filled[i], m.noRoom[i], err = fillKeys(ctx, s, socket, long, c, o.fill); err != nil {
				return nil, fmt.Errorf("filling %s: %w", s.name, err)
			}
		}
	}
	return m, nil
}

// timeStart starts a server, waits for its first answer and ends it.
func timeStart(ctx context.Context, s subject, socket, rules string, c cores) (ms, mib float64, err error) {
	p, err := start(ctx, s, socket, rules, c)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	d, err := firstAnswer(ctx, p)
	if err != nil {
		return 0, 0, err
	}
	mib, err = p.resident()
	return float64(d) / float64(time.Millisecond), mib, err
}

// fillKeys sends every key once to a rule that keeps each for an hour and returns the memory then,
// and how many keys were refused: the limit being out of reach, for want of room.
func fillKeys(ctx context.Context, s subject, socket, rules string, c cores, keys int) (mib float64, refused int64, err error) {
	p, err := start(ctx, s, socket, rules, c)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if _, err := firstAnswer(ctx, p); err != nil {
		return 0, 0, err
	}
	client, err := h2load.Dial(ctx, h2load.Config{Target: p.target, Domain: domain, Route: route, Spin: true})
	if err != nil {
		return 0, 0, err
	}
	defer client.Close()
	res, err := client.Run(h2load.Load{Calls: int64(keys), Streams: 64, Keys: keys, Sequential: true})
	if err == nil {
		err = res.FirstError
	}
	if err != nil {
		return 0, 0, err
	}
	mib, err = p.resident()
	return mib, res.OverLimit, err
}
