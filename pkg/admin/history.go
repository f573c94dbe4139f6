package admin

import (
	"math"
	"sync"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/window"
)

const (
	// historySeconds is how far back what became of requests is kept.
	historySeconds = 300
	// maxHistories is how many resources it is kept of, beside the sum of all: 10 KiB each.
	maxHistories = 256
)

// history keeps what became of requests second by second. The engine remembers each second of a minute, so that it is
// enough to come now and then, and no second is lost or counted twice. The zero value is empty; its methods are safe
// for concurrent use.
type history struct {
	mu     sync.Mutex
	inUse  map[engine.ResourceKey]*series
	over   int64           // the newest second that has been gathered
	minute []window.Second // working memory
}

// series is the history of one resource: a ring of seconds.
type series struct {
	points [historySeconds]point
	last   int64 // newest second in which something was counted
	ruled  bool
}

// point is what became of requests in one second.
type point struct {
	second                        int64
	pass, block, success, failure uint32
	rt                            time.Duration // of all that ended together
}

// gather adds the seconds that are over since the last time. A resource without requests takes no memory, and gives
// back what it had when nothing is left of it.
func (h *history) gather(e *engine.Engine, now int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	over := now/int64(time.Second) - 1
	if over == h.over {
		return // nothing more is over
	}
	h.over = over
	if h.inUse == nil {
		h.inUse = make(map[engine.ResourceKey]*series)
	}
	h.add(e.Inbound(now), now, true)
	for _, st := range e.Resources(now, nil) {
		h.add(st, now, false)
	}
	oldest := over - historySeconds + 1
	for key, s := range h.inUse {
		if s.last < oldest {
			delete(h.inUse, key)
		}
	}
}

// add takes over the seconds of one resource that are over, those that it has already once more.
func (h *history) add(st engine.ResourceState, now int64, always bool) {
	h.minute = st.Minute(now, h.minute[:0])
	over := h.minute[:len(h.minute)-1]
	s := h.inUse[st.Key()]
	for i := range over {
		if over[i].Statistic == (window.Statistic{}) {
			continue
		}
		if s == nil {
			if s = h.room(st.Ruled || always, len(h.inUse) <= maxHistories); s == nil {
				return
			}
			h.inUse[st.Key()] = s
		}
		s.ruled = st.Ruled || always
		s.last = over[i].Start / int64(time.Second)
		s.points[s.last%historySeconds] = pointOf(s.last, &over[i].Statistic)
	}
}

// room returns a series for one more resource. Where there is none left, one that rules name takes the place of one
// that no rule names, the longest without requests; others get none.
func (h *history) room(ruled, free bool) *series {
	if free {
		return new(series)
	}
	if !ruled {
		return nil
	}
	var victim engine.ResourceKey
	oldest := int64(math.MaxInt64)
	for key, s := range h.inUse {
		if !s.ruled && s.last < oldest {
			victim, oldest = key, s.last
		}
	}
	if oldest == math.MaxInt64 {
		return nil
	}
	delete(h.inUse, victim)
	return new(series)
}

func pointOf(second int64, s *window.Statistic) point {
	return point{
		second: second, pass: clamp(s.Pass), block: clamp(s.Block), success: clamp(s.Success), failure: clamp(s.Exception),
		rt: s.RT,
	}
}

// clamp keeps what does not fit at the largest value. What is negative was given back later than it was counted.
func clamp(n int64) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }

// of returns the last seconds of a resource that are over; nil if there is no history of it.
func (h *history) of(key engine.ResourceKey, now int64, seconds int) *History {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.inUse[key]
	if s == nil {
		return nil
	}
	from := now/int64(time.Second) - int64(seconds)
	v := &History{
		From: time.Unix(from, 0).UTC(), Pass: make([]uint32, seconds), Block: make([]uint32, seconds),
		Success: make([]uint32, seconds), Error: make([]uint32, seconds), AvgRTMs: make([]float64, seconds),
	}
	for i := range seconds {
		second := from + int64(i)
		p := &s.points[second%historySeconds]
		if p.second != second {
			continue
		}
		v.Pass[i], v.Block[i], v.Success[i], v.Error[i] = p.pass, p.block, p.success, p.failure
		if p.success > 0 {
			v.AvgRTMs[i] = milliseconds(p.rt) / float64(p.success)
		}
	}
	return v
}
