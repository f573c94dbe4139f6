package golden

// noRLSFormat is why traces of that format wait.
const noRLSFormat = "the file format of Sentinel's own rate limit service is not read"

// waiting are the traces that cannot be told in a case file yet, with the reason.
var waiting = map[string]string{
	"EV-01": noRLSFormat, "EV-03": noRLSFormat,
}

// Waits returns why a trace cannot be told in a case file yet; empty: it can.
func (t *Trace) Waits() string { return waiting[t.ID] }

// Note says what is to be known of how a trace is told: why the answer differs, with which settings it is the same,
// what is left out. It may be empty.
func (t *Trace) Note() string {
	for key, value := range t.With {
		return "with " + key + ": " + value
	}
	for i := range t.Events {
		if t.Events[i].Op == "values_sum_without_current" {
			return "without the sums of a window that is not moved to now, of which there are none"
		}
	}
	if t.AtOnce {
		return "with the calls ending as they begin, as its clock went back between them"
	}
	return t.Why
}
