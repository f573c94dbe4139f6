package rule

import (
	"math/big"
	"strconv"
	"strings"
)

// deriveDegradeID names a rule by what it watches and its threshold, so that several breakers of one
// resource tell themselves apart:
// [domain/]degrade/mode/resource/grade/count[/slowRatioThreshold]/statInterval or last:size.
func deriveDegradeID(r *DegradeRule, count *big.Rat) string {
	var b strings.Builder
	if r.Domain != "" {
		b.WriteString(escapeID(r.Domain) + "/")
	}
	b.WriteString("degrade/" + r.Mode.String() + "/" + escapeID(r.Resource))
	b.WriteString("/" + r.Grade.String() + "/" + decimal(count))
	if r.Grade == GradeSlowRatio || r.Grade == GradeAverageRT {
		b.WriteString("ms")
	}
	if r.Grade == GradeSlowRatio {
		b.WriteString("/" + decimal(big.NewRat(r.Ratio.Num, r.Ratio.Den)))
	}
	if r.Size > 0 {
		b.WriteString("/last:" + strconv.Itoa(r.Size))
	} else {
		b.WriteString("/" + strconv.FormatInt(r.StatInterval.Milliseconds(), 10) + "ms")
	}
	return fitID(b.String())
}

// decimal writes a number without zeros at its end. Numbers of files have finitely many decimals;
// beyond the twelfth they are cut off.
func decimal(r *big.Rat) string {
	s := r.FloatString(12)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// StateKey identifies the breaker that the rule keeps over a reload, with its state and what it has
// counted; a changed threshold or time acts on it at once, but calls that have ended stay as slow as
// they were. It is not for showing.
func (r *DegradeRule) StateKey() string {
	return joinKey([]string{
		"degrade", r.Domain, r.ID,
		strconv.Itoa(int(r.Mode)), r.Resource, r.Grade.String(),
		r.StatInterval.String(), strconv.Itoa(r.SampleCount), strconv.Itoa(r.Size),
	})
}
