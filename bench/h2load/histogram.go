package h2load

import (
	"math/bits"
	"time"
)

// Values below 2^subBits are counted one by one; above, every power of two is divided into
// 2^subBits counters, so that a quantile is at most 1/128 above the recorded value.
const (
	subBits    = 7
	subBuckets = 1 << subBits
	maxExp     = 36 - subBits // the last counter ends at 2^36 ns, 68 s
)

// Histogram counts durations from 1 ns to 68 s with a relative error below 0.8 %. Longer ones are
// counted as 68 s, negative ones as 0. The zero value is empty and ready. It is not safe for
// concurrent use.
type Histogram struct {
	counts [(maxExp + 1) * subBuckets]int64
	total  int64
	max    int64
}

// Record counts one duration.
func (h *Histogram) Record(d time.Duration) {
	v := max(int64(d), 0)
	h.counts[bucket(v)]++
	h.total++
	h.max = max(h.max, v)
}

// Merge adds what o counted.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.total += o.total
	h.max = max(h.max, o.max)
}

// Count returns how many durations were recorded.
func (h *Histogram) Count() int64 { return h.total }

// Quantile returns a duration that the share q (0 to 1) of the recorded ones does not exceed. It
// is never below the exact one. An empty histogram has 0.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := int64(q*float64(h.total) + 0.5)
	rank = min(max(rank, 1), h.total)
	var seen int64
	for i, n := range h.counts {
		if seen += n; seen >= rank && n > 0 {
			return time.Duration(min(upper(i), h.max))
		}
	}
	return 0
}

// bucket returns the counter of v: the exponent of v and its next subBits bits.
func bucket(v int64) int {
	if v < subBuckets {
		return int(v)
	}
	e := bits.Len64(uint64(v)) - subBits
	if e > maxExp {
		return (maxExp+1)*subBuckets - 1
	}
	// v>>(e-1) is the top bit and the subBits bits below it: from subBuckets to 2*subBuckets-1.
	return e*subBuckets + int(v>>(e-1)) - subBuckets
}

// upper returns the largest value that is counted in counter i.
func upper(i int) int64 {
	if i < subBuckets {
		return int64(i)
	}
	e := i / subBuckets
	return (int64(i%subBuckets+subBuckets)+1)<<(e-1) - 1
}
