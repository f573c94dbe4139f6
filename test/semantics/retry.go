package main

import (
	"fmt"
	"time"
)

// refusal is what a lone client is told.
type refusal struct {
	after time.Duration // until it passes
	wait  time.Duration // that it is then held back
}

// refused plays arrivals on a budget, then asks for n hits at the given moment. If they are refused,
// and not for good, it looks whether they pass when they are said to, and not a nanosecond before.
func refused(b limiter, arrivals []arrival, at, n int64) (r refusal, ok bool, err error) {
	play(b, arrivals)
	now := origin + at
	if _, passed := b.acquire(now, n); passed {
		return refusal{}, false, nil
	}
	d, ever := b.until(now, n)
	if !ever {
		return refusal{}, false, nil
	}
	if _, early := b.acquire(now+int64(d)-1, n); early {
		return refusal{}, false, fmt.Errorf("%d hits pass before the %s that they are told to wait", n, d)
	}
	wait, passed := b.acquire(now+int64(d), n)
	if !passed {
		return refusal{}, false, fmt.Errorf("%d hits do not pass after the %s that they are told to wait", n, d)
	}
	return refusal{d, wait}, true, nil
}

// refused does so on a new budget.
func (s subject) refused(arrivals []arrival, at, n int64) (refusal, bool, error) {
	b, err := s.limiter(origin)
	if err != nil {
		return refusal{}, false, fmt.Errorf("%s: %w", s, err)
	}
	r, ok, err := refused(b, arrivals, at, n)
	if err != nil {
		return refusal{}, false, fmt.Errorf("%s: %w", s, err)
	}
	return r, ok, nil
}

// afterAll is what a client is told who comes when everything has been taken at one moment.
func (s subject) afterAll(at int64) (refusal, error) {
	r, ok, err := s.refused([]arrival{{at, 1, everything}}, at, 1)
	if err == nil && !ok {
		err = fmt.Errorf("%s: a request more than everything is not refused", s)
	}
	return r, err
}

// retries checks what clients are told at moments of every random pattern, and returns how many were
// refused.
func (s subject) retries() (checked int64, err error) {
	d := dice(s.width())
	for p := range random(s) {
		for _, n := range []int64{1, s.mode.hits()} {
			for cut := len(p); cut > 0; cut /= 2 {
				at := p[cut-1].at
				if d.below(4) == 0 {
					at += d.below(s.width())
				}
				_, ok, err := s.refused(p[:cut], at, n)
				if err != nil {
					return 0, err
				}
				if ok {
					checked++
				}
			}
		}
	}
	return checked, nil
}
