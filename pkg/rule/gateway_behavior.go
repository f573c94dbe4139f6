package rule

import (
	"fmt"
	"math/big"
	"strconv"
	"time"
)

// maxQueueingMs bounds the wait of a queue; no caller waits for longer.
const maxQueueingMs = 3600 * 1000

// checkQueueing fills in what queueing needs, and refuses what only windows have.
func (f *fileLoad) checkQueueing(d *limitDraft, r *LimitRule) {
	r.Window = WindowNone
	for _, field := range []*located[int64]{&d.window, &d.sampleCount} {
		if field.given && field.ok {
			f.fail(field.at, "is for rules that count in a window; queueing has none", "remove it, or write controlBehavior reject")
		}
	}
	if d.burst.ok && d.burst.v > 0 {
		f.fail(d.burst.at, "is not for queueing, which lets requests through one by one", "write 0, or write controlBehavior reject")
	}
	if !d.maxQueueing.ok {
		return
	}
	most := d.maxQueueing.v
	if most > maxQueueingMs {
		f.fail(d.maxQueueing.at, fmt.Sprintf("is %d; with queueing it must be from 0 to %d, an hour", most, maxQueueingMs), "")
		return
	}
	r.MaxQueueing = time.Duration(most) * time.Millisecond
	f.checkPatience(d, r)
	if !d.count.ok || r.Limit == 0 || r.Unlimited {
		return
	}
	cost := r.Interval / time.Duration(r.Limit)
	if r.MaxQueueing < cost || r.MaxQueueing == cost && r.Kind != LimitFlow {
		at, name := d.maxQueueing.at, limitWords[r.Kind].queueing
		if !d.maxQueueing.given {
			at = d.behavior.at
		}
		fix := "write controlBehavior reject"
		if enough := cost.Milliseconds() + 1; enough <= maxQueueingMs {
			fix = "write " + name + " " + strconv.FormatInt(enough, 10) + " or more"
		}
		f.warn(at, fmt.Sprintf("a %s of %d is not above the %v between two requests: of those that come together only one passes", name, most, cost), fix)
	}
}

// checkPatience warns of a wait for which Envoy does not stay, if it is known for how long it does.
func (f *fileLoad) checkPatience(d *limitDraft, r *LimitRule) {
	patience := f.options.MaxWait
	if patience <= 0 || r.MaxQueueing <= patience {
		return
	}
	at, name := d.maxQueueing.at, limitWords[r.Kind].queueing
	if !d.maxQueueing.given {
		at = d.behavior.at
	}
	fix := "write a longer timeout in Envoy's filter and in envoyTimeout"
	if ms := patience.Milliseconds(); ms > 0 {
		fix = fmt.Sprintf("write %s %d or less, or a longer timeout in Envoy's filter and in envoyTimeout", name, ms)
	}
	f.warn(at, fmt.Sprintf("a %s of %d is beyond the %v for which Envoy's timeout lets a call wait: what would wait longer is refused", name, d.maxQueueing.v, patience),
		fix)
}

// checkTokenBucket refuses slots, which a bucket has none of, and a bucket that could never hold the
// token that a request takes.
func (f *fileLoad) checkTokenBucket(d *limitDraft, r *LimitRule) {
	if d.sampleCount.given && d.sampleCount.ok {
		f.fail(d.sampleCount.at, "is for windows with slots; a token bucket has none", "remove it")
	}
	if !d.count.ok || !d.burst.ok || r.Limit == 0 || r.Limit >= r.Scale || d.burst.v > 0 {
		return
	}
	seconds := int64(r.Interval/time.Second) / r.Scale
	rates := []rate{{limit: r.Limit, seconds: seconds * r.Scale}}
	if _, ok := windowScale.wholeRate(d.count.v.exact, seconds); !ok {
		rates = nearestRates(big.NewRat(r.Limit, r.Scale), seconds)
	}
	f.fail(d.count.at, fmt.Sprintf("%s makes a token bucket that never holds one request: nothing would pass", clip(d.count.v.text)), offer(rates, r.Kind)+", or add a burst")
}

// checkBurst fills in what may pass above the limit.
func (f *fileLoad) checkBurst(d *limitDraft, r *LimitRule) {
	switch {
	case !d.burst.ok || !d.count.ok || d.burst.v == 0:
	case d.admitsSome() && (r.Unlimited || r.Limit == 0):
		r.Burst = d.burst.v // of the exceptions
	case r.Unlimited:
	case d.count.v.exact.Sign() == 0:
		f.warn(d.burst.at, "means nothing: a count of 0 blocks everything", "")
	case d.burst.v > MaxLimit-r.Limit:
		f.fail(d.burst.at, fmt.Sprintf("count and burst are %d together; at most %d are allowed", r.Limit+d.burst.v, MaxLimit), "")
	default:
		r.Burst = d.burst.v
	}
}
