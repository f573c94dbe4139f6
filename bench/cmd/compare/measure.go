package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/sidecard/sidecard/bench/h2load"
	"github.com/sidecard/sidecard/bench/ruleset"
)

// row is one kind of load.
type row struct {
	name, title string
	conns       int
	load        h2load.Load
}

var allRows = []row{
	{"m1", "1 connection x 1 stream", 1, h2load.Load{Streams: 1}},
	{"m32", "1 x 32", 1, h2load.Load{Streams: 32}},
	{"c4m16", "4 x 16", 4, h2load.Load{Streams: 16}},
	{"r5k", "5 000 arrivals a second", 1, h2load.Load{Streams: 1000, Rate: 5000}},
}

// sample is one measurement of a server under a load. Times are microseconds.
type sample struct {
	rate float64 // answers a second
	cpu  float64 // of the server, for each answer
	p50  float64
	p99  float64
	p999 float64
}

// measureLoads runs every round: all loads, each on both servers one right after the other, in an
// order that changes from round to round. The result is indexed by row, server and round.
//
// Every round has servers of its own: where a process happens to lie in memory can cost it a tenth for
// as long as it lives, which rounds on the same two would all agree on.
func measureLoads(ctx context.Context, dir string, subjects [2]subject, rows []row, c cores, o options, side *sides, progress io.Writer) ([][2][]sample, error) {
	rules := filepath.Join(dir, "rules")
	if err := ruleset.Write(rules, ruleset.Options{}); err != nil {
		return nil, err
	}
	runs := make([][2][]sample, len(rows))
	for round := range o.rounds {
		fmt.Fprintf(progress, "round %d of %d\n", round+1, o.rounds)
		if err := measureRound(ctx, dir, rules, subjects, rows, round, c, o, side, runs); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// measureRound adds a sample of every load on every server to runs, and the memory of the servers to
// side.
func measureRound(ctx context.Context, dir, rules string, subjects [2]subject, rows []row, round int, c cores, o options, side *sides, runs [][2][]sample) (err error) {
	var servers [2]*process
	for turn := range 2 {
		i := (round + turn) % 2
		p, err := start(ctx, subjects[i], filepath.Join(dir, fmt.Sprintf("load%d", i)), rules, c)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.stop()) }()
		if _, err := firstAnswer(ctx, p); err != nil {
			return err
		}
		servers[i] = p
	}
	for i, r := range rows {
		for turn := range 2 {
			which := (round + i + turn) % 2
			s, err := measure(ctx, servers[which], r, o)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", subjects[which].name, r.name, err)
			}
			runs[i][which] = append(runs[i][which], s)
		}
	}
	for i, p := range servers {
		mib, err := p.resident()
		if err != nil {
			return err
		}
		side.loaded[i] = append(side.loaded[i], mib)
	}
	return nil
}

func measure(ctx context.Context, p *process, r row, o options) (sample, error) {
	c, err := h2load.Dial(ctx, h2load.Config{
		Target: p.target, Conns: r.conns, Domain: ruleset.Domain, Route: ruleset.Route, Timeout: 5 * time.Second, Spin: true,
	})
	if err != nil {
		return sample{}, err
	}
	defer c.Close()
	load := r.load
	load.Keys, load.Duration = o.keys, o.warmup
	if o.warmup > 0 {
		if _, err := drive(ctx, c, load); err != nil {
			return sample{}, err
		}
	}
	load.Duration = o.duration
	before, err := p.cpu()
	if err != nil {
		return sample{}, err
	}
	res, err := drive(ctx, c, load)
	if err != nil {
		return sample{}, err
	}
	after, err := p.cpu()
	if err != nil {
		return sample{}, err
	}
	return sample{
		rate: float64(res.Answers()) / res.Elapsed.Seconds(),
		cpu:  micros(after-before) / float64(res.Answers()),
		p50:  micros(res.Latency.Quantile(0.5)),
		p99:  micros(res.Latency.Quantile(0.99)),
		p999: micros(res.Latency.Quantile(0.999)),
	}, nil
}

// drive runs a load that nothing must go wrong with: a refusal or an error costs the server
// something else than the answer that is measured.
func drive(ctx context.Context, c *h2load.Client, l h2load.Load) (*h2load.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	res, err := c.Run(l)
	switch {
	case err != nil:
		return nil, err
	case res.Errors > 0:
		return nil, fmt.Errorf("%d of %d calls failed, the first with: %w", res.Errors, res.Errors+res.Answers(), res.FirstError)
	case res.OverLimit > 0:
		return nil, fmt.Errorf("%d calls were refused although no limit is in reach", res.OverLimit)
	case res.OK == 0:
		return nil, errors.New("no call was made")
	}
	return res, nil
}

// firstAnswer tries until the server has answered a call and returns how long after its start that
// was.
func firstAnswer(ctx context.Context, p *process) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	retry := time.NewTicker(200 * time.Microsecond)
	defer retry.Stop()
	for {
		err := oneCall(ctx, p.target)
		if err == nil {
			return time.Since(p.began), nil
		}
		select {
		case <-retry.C:
		case <-p.done:
			return 0, fmt.Errorf("the server ended: %w\n%s", errors.Join(p.err, err), p.log.String())
		case <-ctx.Done():
			return 0, fmt.Errorf("no answer since its start: %w", err)
		}
	}
}

func oneCall(ctx context.Context, target string) error {
	c, err := h2load.Dial(ctx, h2load.Config{Target: target, Domain: ruleset.Domain, Route: ruleset.Route})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = drive(ctx, c, h2load.Load{Calls: 1})
	return err
}

func micros(d time.Duration) float64 { return float64(d) / 1000 }
