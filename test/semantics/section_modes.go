package main

import "fmt"

// modesSection says what there is, what each guarantees and when to take which.
func modesSection(d *document, _ *lab) error {
	d.say(`
# What a limit admits

A rule says ~count~ requests per ~intervalSec~. How many really pass in the worst second, how many pass when far
too many come, and how long a refused client has to wait depend on the kind of window that the rule counts in. This
page says it for each kind. All figures are measured on the code that the daemon decides with, under a virtual clock,
and a test fails if a figure here is not what the code does. Unless something else is said, ~count~ is %d and a burst
is %d more; "an interval" is any stretch of time of that length, wherever it begins, both its ends included.
`, count, burst)

	d.say(`
## Which one to take

| you want | write | guaranteed in any interval | price |
|---|---|---|---|
| the usual thing | nothing, or ~"window": "aligned"~ | at most 2·count, and at most count in every sampleCount slots in a row | up to twice the count in an interval that begins and ends within slots |
| a bound that a partner, a bill or a database holds you to | ~"window": "strict"~ | at most count | under constant overload less than count passes: count·n/(n+1) with sampleCount n; a client who bursts exactly once an interval gets half |
| room for clients who come in bursts | ~"burst": b~ | at most 2·count + b, and in the long run count an interval | the first burst |
| both | ~"window": "strict", "burst": b~ | at most count + b, and in the long run count an interval | the first burst |
| what Sentinel's gateway does, to the millisecond | ~"window": "token-bucket"~ | less than 2·count | everything may pass at once, and again a nanosecond later; a client who bursts exactly once an interval gets half |
| requests at an even pace, late rather than refused | ~"controlBehavior": "queue"~ | at most count + 1 | clients wait, up to ~maxQueueingTimeoutMs~ |
| a start that is easy on caches and pools | ~"controlBehavior": "warm_up"~ | as ~aligned~, or ~strict~ | after a quiet time only a part of count passes, [see below](#how-a-limit-warms-up) |

**aligned** cuts the interval into ~sampleCount~ slots, which begin at whole multiples of their width since 1970, so that
minutes and hours are those of the clock. The slot that time is in and those before it, sampleCount together, admit at
most count. What passed at the end of a slot is forgotten when that slot leaves, up to a slot's width too early: that
is why an interval that begins and ends within slots can see up to twice the count. More slots do not lower this
bound, but they stretch it: with one slot twice the count may pass within a nanosecond, with n it takes (n-1)/n of
an interval.

**strict** counts one slot more. Any interval lies within sampleCount + 1 slots, so none ever sees more than count. In
return every request is counted for up to a slot's width too long, and a refused client waits for as much longer. More
slots make that smaller, and cost 8 bytes each.

**burst** is two limits at once: the window's, raised to count + burst, and a bucket of as many tokens, of which count
come back in an interval, one by one. A client that was idle may spend the whole bucket; one that keeps coming gets
count an interval.

**token-bucket** holds count + burst tokens and refills lazily: only a request that comes more than an interval after
the last refill brings tokens back, then for all the time since. Take it if your rules come from Sentinel's gateway and
must refuse exactly the same requests.

**queue** promises each request a moment, interval/count after the one before, and answers it then. A request that would
have to wait ~maxQueueingTimeoutMs~ or more is refused at once, and so is one whose caller has not so much time. A
call of several hits takes as many places and is answered at the last of them: all its hits pass at one moment, and
any interval admits count and as many as the largest call has. Envoy's filter gives up after 20 ms unless its
~timeout~ is set higher than the longest wait, and then lets the request through.

A rule with ~paramItem~ keeps one such budget for each value of the parameter, as long as its table has room for the
value; everything on this page then holds for each. Without ~sampleCount~ a rule has 10 slots, or 2 with ~paramItem~.
`)
	d.say(`The rules of this page:`)
	d.text.WriteString("```json\n[\n")
	modes := append(slotted(), bucket, bucketBurst, queue)
	for i, m := range modes {
		s := subject{mode: m, interval: second}
		if i < len(slotted()) {
			s.slots = 10
		}
		comma := ","
		if i == len(modes)-1 {
			comma = ""
		}
		if _, err := newRuleLimiter(s, false); err != nil {
			return err
		}
		// All of them limit the same, so each needs an id to stand beside the others in one file.
		fmt.Fprintf(&d.text, "  {\"id\": %q, %s}%s\n", m.id(), s.fields(false), comma)
	}
	d.text.WriteString("]\n```\n\n")
	return nil
}
