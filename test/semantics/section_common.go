package main

// commonSection says what holds whatever the mode.
func commonSection(d *document, _ *lab) error {
	d.say(`
## What holds in every mode

**A call is charged as a whole or not at all.** A request may be subject to several rules: those of its route, those of
every API group that it enters, and an Envoy call may carry several descriptors. All of them are asked first. If all
agree, all are charged; if one refuses, none is, so a client that one rule keeps refusing does not use up the budgets
of the others, and a request that is refused costs nothing anywhere. A request of n hits passes whole or is refused
whole, also when a part of it would fit; one that asks for more than the limit is refused at once and for good, and takes
nothing from anybody. The price: while a call has charged one rule and not yet the next, another may be refused that
would have fitted a moment later. It is never the other way round. ~sidecard_lost_races_total~ counts these.

**Bounds hold under any concurrency.** They are kept by one atomic step, or under a lock, not by a check that is
followed by a count. A request whose clock reading is late, because it was held up on its way, is charged to the newest
slot.

**A budget is that of one Envoy.** Each sidecard counts for itself. With ten pods and a rule of count %d, %d pass per
interval if the load is spread over all, and a client whose requests all reach one pod gets %d. Divide count by the
number of pods where the total matters.

**A restart forgets.** Windows, buckets and queues begin empty, so an interval in which the daemon was restarted may
admit up to twice its bound: once before, once after. For seconds and minutes this rarely matters; ~sidecard check~
warns of intervals of an hour or more.

**A reload does not.** A rule whose ~count~, ~burst~ or longest wait changes keeps what it has counted, and the new number
acts at once on that. A rule of another window, interval, sampleCount or parameter begins anew, and the log names it.

**Time does not step.** The wall clock is read when the daemon starts; from then on only monotonic time is added to it.
Setting the clock opens and closes nothing. Slots begin at multiples of their width since 1970 in UTC.

**A fraction is exact.** A count of 2.5 per second in a window is 5 per 2 seconds, and "interval" on this page then
means those 2 seconds. A token bucket and a queue keep the interval as written and the fraction as it is.

**A count of 0 refuses everything**, also beside a burst.
`, count, 10*count, count)
	return nil
}
