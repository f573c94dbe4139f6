package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sidecard/sidecard/bench/h2load"
	"github.com/sidecard/sidecard/bench/ruleset"
)

const (
	starts     = 5    // how often each start is timed
	swaps      = 5    // how often a change of the rules is timed
	otherRules = 1000 // rules that no call concerns, in starts and swaps
	remember   = 1800 // seconds: longer than filling takes
)

// sides are the figures beside the loads, per server. Those about rules are of daemons only.
type sides struct {
	start     [2][]float64 // ms from start to the first answer
	startFull [2][]float64 // the same with otherRules more
	swap      [2][]float64 // ms from renaming a rule file to the first answer by it
	idle      [2]float64   // MiB resident after the first answer
	loaded    [2][]float64 // MiB resident after all loads, a figure a round
	filled    [2]float64   // with options.fill live keys in one rule; 0 if not measured
	noRoom    [2]int64     // how many of these keys found no room
	fill      int
}

func measureSide(ctx context.Context, dir string, subjects [2]subject, c cores, o options) (*sides, error) {
	few, many, long := filepath.Join(dir, "few"), filepath.Join(dir, "many"), filepath.Join(dir, "long")
	if err := errors.Join(
		ruleset.Write(few, ruleset.Options{}),
		ruleset.Write(many, ruleset.Options{Others: otherRules}),
		ruleset.Write(long, ruleset.Options{UserInterval: remember}),
	); err != nil {
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
		if !s.daemon {
			continue
		}
		var err error
		if m.swap[i], err = timeSwaps(ctx, s, socket, filepath.Join(dir, fmt.Sprintf("swap%d", i)), c); err != nil {
			return nil, fmt.Errorf("changing the rules of %s: %w", s.name, err)
		}
		if o.fill > 0 {
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
	return millis(d), mib, err
}

// timeSwaps closes and opens the route by turns and measures how long each takes.
func timeSwaps(ctx context.Context, s subject, socket, dir string, c cores) (ms []float64, err error) {
	if err := ruleset.Write(dir, ruleset.Options{Others: otherRules}); err != nil {
		return nil, err
	}
	p, err := start(ctx, s, socket, dir, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if _, err := firstAnswer(ctx, p); err != nil {
		return nil, err
	}
	client, err := h2load.Dial(ctx, h2load.Config{Target: p.target, Domain: ruleset.Domain, Route: ruleset.Route})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for i := range swaps {
		closed := i%2 == 0
		file := ruleset.Files(ruleset.Options{Others: otherRules, Generation: i + 1, Closed: closed})[0]
		next := filepath.Join(dir, ".next")
		if err := os.WriteFile(next, file.Data, 0o644); err != nil {
			return nil, err
		}
		if err := os.Rename(next, filepath.Join(dir, file.Name)); err != nil {
			return nil, err
		}
		d, err := untilRefused(ctx, client, closed)
		if err != nil {
			return nil, err
		}
		ms = append(ms, millis(d))
	}
	return ms, nil
}

// untilRefused calls every millisecond until calls are refused, or are no longer, and returns how long
// that took.
func untilRefused(ctx context.Context, client *h2load.Client, refused bool) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; {
		res, err := client.Run(h2load.Load{Calls: 1})
		if err == nil {
			err = res.FirstError
		}
		if err != nil {
			return 0, err
		}
		if (res.OverLimit > 0) == refused {
			return time.Since(began), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("the new rules are not in force: %w", ctx.Err())
		}
	}
}

// fillKeys sends every key once to a rule that keeps each for longer than that takes, and returns the
// memory then, and how many keys were refused: the limit being out of reach, for want of room.
func fillKeys(ctx context.Context, s subject, socket, rules string, c cores, keys int) (mib float64, refused int64, err error) {
	p, err := start(ctx, s, socket, rules, c)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if _, err := firstAnswer(ctx, p); err != nil {
		return 0, 0, err
	}
	client, err := h2load.Dial(ctx, h2load.Config{Target: p.target, Domain: ruleset.Domain, Route: ruleset.Route, Spin: true})
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

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
