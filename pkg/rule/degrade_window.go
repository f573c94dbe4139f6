package rule

import (
	"fmt"
	"strings"
	"time"
)

// checkOutcomes fills in which calls are judged: those of a time, or the last ones.
func (f *fileLoad) checkOutcomes(d *degradeDraft, r *DegradeRule) {
	s := d.sliding.v
	switch {
	case d.sliding.given && (!d.sliding.ok || !s.kind.ok):
		return
	case d.sliding.given && s.kind.v == slidingCount:
		f.checkRing(d, s, r)
		return
	case d.sliding.given:
		for _, field := range []*located[int64]{&s.size, &s.maxWait} {
			if field.given && field.ok {
				f.fail(field.at, "is for type count; a window of time has statIntervalMs and sampleCount", "remove it, or write type count")
			}
		}
	}
	if d.statInterval.ok && d.sampleCount.ok {
		f.checkStatInterval(d, r)
	}
}

// checkRing fills in a window of the last calls.
func (f *fileLoad) checkRing(d *degradeDraft, s *slidingDraft, r *DegradeRule) {
	if d.sampleCount.given && d.sampleCount.ok {
		f.fail(d.sampleCount.at, "is for windows of time; a slidingWindow of type count has no slots", "remove it")
	}
	if d.statInterval.given && d.statInterval.ok && d.statInterval.v != defaultStatMs {
		f.warn(d.statInterval.at, "means nothing with a slidingWindow of type count", "remove it")
	}
	r.Size, r.MaxWait = int(s.size.v), time.Duration(s.maxWait.v)*time.Millisecond
	if s.size.ok && r.MinRequestAmount > s.size.v {
		r.MinRequestAmount = s.size.v
		if d.minAmount.given {
			f.warn(d.minAmount.at, fmt.Sprintf("is more calls than slidingWindow.size; taken as %d", s.size.v), "")
		}
	}
}

// checkStatInterval fills in a window of time, whose slots must divide it.
func (f *fileLoad) checkStatInterval(d *degradeDraft, r *DegradeRule) {
	ms, samples := d.statInterval.v, d.sampleCount.v
	if !d.sampleCount.given {
		for ms%samples != 0 {
			samples--
		}
	}
	if ms%samples != 0 {
		f.fail(d.sampleCount.at, fmt.Sprintf("%d does not divide the interval of %d ms", samples, ms), "write "+strings.Join(nearestDivisors(ms, int(samples)), " or "))
		return
	}
	if ms >= longIntervalSec*1000 {
		f.warn(d.statInterval.at, "windows start empty after a restart, which matters for an interval of an hour or more", "")
	}
	r.StatInterval, r.SampleCount = time.Duration(ms)*time.Millisecond, int(samples)
}
