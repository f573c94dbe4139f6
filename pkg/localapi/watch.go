package localapi

import (
	"context"
	"strings"
	"time"

	sidecardv1 "github.com/sidecard/sidecard/api/sidecard/v1"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// maxWatchers is how many may watch at a time, whichever way they came: each has all resources read once a
// second, and holds the figures of one second.
const maxWatchers = 16

// watch sends the statistics of each second once it is over, until ctx ends, send fails or the daemon drains;
// only in the last case it returns nil. While send takes longer, seconds are left out.
func (s *Service) watch(ctx context.Context, resource string, send func(*sidecardv1.Statistics) error) error {
	defer s.watchers.Add(-1)
	if s.watchers.Add(1) > maxWatchers {
		return errWatched
	}
	timer := time.NewTimer(untilNextSecond(s.cfg.Now()))
	defer timer.Stop()
	var states []engine.ResourceState
	for {
		select {
		case <-timer.C:
			now := s.cfg.Now()
			states = s.cfg.Engine.Resources(now, states[:0])
			if err := send(statistics(now, states, resource)); err != nil {
				return err
			}
			timer.Reset(untilNextSecond(s.cfg.Now()))
		case <-s.cfg.Room.Draining():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// untilNextSecond is how long until a second of the wall clock begins.
func untilNextSecond(now int64) time.Duration { return time.Second - time.Duration(now)%time.Second }

// statistics returns what was counted in the last second that was over by now.
func statistics(now int64, states []engine.ResourceState, resource string) *sidecardv1.Statistics {
	out := &sidecardv1.Statistics{Second: now/int64(time.Second) - 1}
	if len(states) == 0 {
		return out
	}
	minute := states[0].Minute(now, nil)
	for i := range states {
		s := &states[i]
		name := s.Name
		if s.Other {
			name = "(other)"
		}
		if resource != "" && name != resource {
			continue
		}
		minute = s.Minute(now, minute[:0])
		last := minute[len(minute)-2] // the newest is not over
		r := &sidecardv1.ResourceStatistics{
			Domain: s.Domain, Resource: strings.ToValidUTF8(name, "\uFFFD"), ApiGroup: s.Mode == rule.ModeAPI, Pass: last.Pass, Block: last.Block,
		}
		if last.Pass+last.Block+last.Success+s.Last.InFlight == 0 {
			continue
		}
		if s.Reported {
			r.Success, r.Exception = new(last.Success), new(last.Exception)
		}
		if s.Reported || s.Last.InFlight > 0 {
			r.InFlight = new(s.Last.InFlight)
		}
		if last.Success > 0 {
			r.AvgRtMs, r.MinRtMs = new(millis(last.AvgRT())), new(millis(last.MinRT))
		}
		out.Resources = append(out.Resources, r)
	}
	return out
}

// millis returns a time in milliseconds, to the microsecond.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
