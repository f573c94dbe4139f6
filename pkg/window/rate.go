package window

import "time"

// maxCost is the longest interval of a rate, and the longest cost of one request. A newest promise
// lies at most maxInterval ahead, so its distance from any time and the cost of a call on top, which
// is at most twice maxCost, are together within int64.
const maxCost = 1 << 61

// Rate is a number of requests per Interval, exactly: Count/Denominator of them. 0.4 a second is
// {2, 5, time.Second}, or {4, 10, time.Second}. A Denominator below 1 acts as 1. The zero value
// lets nothing through. It is a plain value; methods do not change it.
type Rate struct {
	Count       int64 // 1 to MaxLimit; below that, nothing passes
	Denominator int64 // 1 to MaxLimit
	Interval    time.Duration
}

// Valid says whether the rate can be kept: each of its numbers is positive and within the range
// that its field names, and one request is due at least once in 73 years. What is given any other
// rate refuses every call.
func (r Rate) Valid() bool {
	_, ok := r.pace()
	return ok
}

// Limit returns the most hits that one call may have at this rate, which is the number of requests
// per Interval, rounded up; 0 if the rate is not valid. One request at a time passes at any rate.
func (r Rate) Limit() int64 {
	p, _ := r.pace()
	return int64(p.limit)
}

// pace is a valid rate as the arithmetic needs it. Its unit of time is the quantum, 1/count of a
// nanosecond: in quanta every cost and every wait at this rate is a whole number, so that nothing
// is ever rounded. Any number of quanta met here is below 2^96: a time below 2^63 ns at a count
// below 2^31 is, and so are the costs of two calls at the limit.
type pace struct {
	count    uint64  // quanta in a nanosecond
	interval uint64  // nanoseconds
	den      uint64  // requests in an interval, if count were the quotient of that and this
	cost     uint128 // quanta of one request
	limit    uint64  // hits of a call
}

func (r Rate) pace() (pace, bool) {
	den := max(r.Denominator, 1)
	if r.Count < 1 || r.Count > MaxLimit || den > MaxLimit || r.Interval < 1 || r.Interval > maxCost {
		return pace{}, false
	}
	p := pace{count: uint64(r.Count), interval: uint64(r.Interval), den: uint64(den)}
	p.cost = mul(p.interval, p.den)
	if p.span(maxCost).less(p.cost) {
		return pace{}, false
	}
	p.limit = p.count
	if p.den != 1 {
		p.limit = (p.count + p.den - 1) / p.den
	}
	return p, true
}

// span is d, which is not negative, in quanta.
func (p pace) span(d time.Duration) uint128 { return mul(uint64(d), p.count) }

// requests is how many requests q quanta are the cost of, rounded down.
func (p pace) requests(q uint128) uint128 {
	q, _ = q.div(p.interval)
	if p.den != 1 {
		q, _ = q.div(p.den)
	}
	return q
}

// instant is an exact moment: ns + part/of nanoseconds since the Unix epoch, part below of. of is
// the count of the rate that led there. The zero value is no moment.
type instant struct {
	ns       int64
	part, of uint32
}

// instantAfter is the moment q quanta after now, at a count of quanta in a nanosecond. q is less
// than 2^62 nanoseconds.
func instantAfter(now int64, q uint128, count uint64) instant {
	ns, part := q.div(count)
	return instant{ns: now + int64(ns.lo), part: uint32(part), of: uint32(count)}
}

// inQuanta is the same moment in quanta of another count, or the next whole nanosecond where the
// count is another: later, so nothing is gained by a change of rates.
func (i instant) inQuanta(count uint64) instant {
	if uint64(i.of) != count {
		i.ns, i.part, i.of = i.up(), 0, uint32(count)
	}
	return i
}

// up is the first whole nanosecond that is no earlier.
func (i instant) up() int64 {
	if i.part != 0 {
		return i.ns + 1
	}
	return i.ns
}

// since is how many of its quanta the moment lies after now; 0 if it does not.
func (i instant) since(now int64) uint128 {
	if i.ns < now {
		return uint128{}
	}
	return mul(uint64(i.ns-now), uint64(i.of)).plus(uint128{lo: uint64(i.part)})
}

// before is how many of its quanta the moment lies before now; 0 if it does not.
func (i instant) before(now int64) uint128 {
	if i.ns >= now {
		return uint128{}
	}
	return mul(uint64(now-i.ns), uint64(i.of)).minus(uint128{lo: uint64(i.part)})
}
