package main

// sentinelSection says what Sentinel does, and where it is done otherwise here.
func sentinelSection(d *document, _ *lab) error {
	d.say(`
## Beside Sentinel

Sentinel has two limiters that are easily taken for one another:

- **Its gateway rules** (~GatewayFlowRule~) and its hot-parameter rules are checked by the token bucket above, one for
  each value, also where a rule has no parameter. ~"window": "token-bucket"~ is that algorithm, to the millisecond: the
  same requests pass and are refused, but for the fraction of a token that Sentinel drops at a refill and this one keeps.
- **Its flow rules** (~FlowRule~) are checked by a sliding window of 2 slots over one second, its LeapArray. That is
  ~aligned~ with ~"sampleCount": 2~ here, and the first plot above shows what it lets through.

A gateway rule without ~window~ counts in an aligned window here, not in Sentinel's bucket. Both admit up to twice the count
in the worst interval. The window gives room back slot by slot where the bucket gives it back at once, and it does not
halve what a client gets who comes exactly once an interval.

What else is different, on purpose:

| | Sentinel | here |
|---|---|---|
| concurrent requests | checked first and counted afterwards, so several may take the last place | the last place is taken once |
| a request refused by a later rule | stays charged to the earlier ones | is charged to none |
| ~burst~ | more tokens in the bucket | the same with ~token-bucket~; beside a window a bucket of count + burst |
| a fractional count | cut to a whole number, so 0.5 refuses everything | kept exactly |
| queueing at high rates | rounded to milliseconds in gateway rules, and unlimited where that gives 0 | exact to the nanosecond |
| a queue's longest wait | that wait itself is refused in gateway rules, allowed in flow rules | the same |
| warm-up of a count below ~coldFactor~ | lets nothing through, ever | at least one request an interval |
| warm-up that holds exactly as many tokens as make it warm | stays warm, however long nobody comes | becomes cold like any other |
| warm-up of gateway rules | acts as reject | warms up |
| relate with queueing | queues, whatever the other resource does | refused at load |
| a rule whose count changes | begins anew, with everything to give | keeps what it has counted, under the new count |
| many parameter values | the least recently used are forgotten, and pass anew | none is forgotten while it matters; beyond ~maxKeys~ the rule's ~overflow~ decides |
| a request without the parameter | not limited | ~onMissing~: not limited, limited together, or refused |
| a value that does not match the pattern | replaced by a reserved word, which a client may send too | not limited by that rule; no word is reserved |
| a prefix pattern of a parameter | not implemented, every value counts | implemented |
| a queued call of more hits than count | waits for as long as it may, and passes at once if it is the first | refused, as by any rule |
| hits that exceed every number | may overflow | refused |
| the clock goes back | buckets stop filling, windows keep refusing | cannot happen, see above |

Rules that ask for what this version does not have are refused when they are loaded, by name; none is applied in part.
`)
	return nil
}
