package ruleview

import (
	"fmt"
	"io"
	"math/big"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
)

// Breaker is a degrade rule, defaults filled in. Make it with OfBreaker.
type Breaker struct {
	ID          string `json:"id"`
	Domain      string `json:"domain,omitempty"`
	Resource    string `json:"resource"`
	Mode        string `json:"mode"`
	Grade       string `json:"grade"`
	Count       string `json:"count"`                        // as written
	SlowRatio   string `json:"slowRatioThreshold,omitempty"` // only of grade slow_ratio
	OpenAt      string `json:"openAt"`
	MinRequests int64  `json:"minRequestAmount"`
	StatMs      int64  `json:"statIntervalMs,omitempty"` // 0: the last Size calls are judged
	SampleCount int    `json:"sampleCount,omitempty"`
	Size        int    `json:"size,omitempty"`
	MaxWaitMs   int64  `json:"maxWaitMs,omitempty"`
	OpenSec     int64  `json:"timeWindow"`
	Probes      int    `json:"halfOpenRequests"`
	ProbeMs     int64  `json:"halfOpenTimeoutMs"`
	LeaseMs     int64  `json:"leaseMs"`
	Shadow      bool   `json:"shadow,omitempty"`

	rule *rule.DegradeRule
}

// OfBreaker returns the view of a degrade rule, which must not change.
func OfBreaker(r *rule.DegradeRule) Breaker {
	v := Breaker{
		ID: r.ID, Domain: r.Domain, Resource: r.Resource, Mode: r.Mode.String(),
		Grade: r.Grade.String(), Count: r.Count, OpenAt: r.OpenAt.String(), MinRequests: r.MinRequestAmount,
		StatMs: r.StatInterval.Milliseconds(), SampleCount: r.SampleCount, Size: r.Size, MaxWaitMs: r.MaxWait.Milliseconds(),
		OpenSec: int64(r.TimeWindow / time.Second), Probes: r.HalfOpenRequests,
		ProbeMs: r.HalfOpenTimeout.Milliseconds(), LeaseMs: r.Lease.Milliseconds(), Shadow: r.Shadow, rule: r,
	}
	if r.Grade == rule.GradeSlowRatio {
		v.SlowRatio = shortDecimal(big.NewRat(r.Ratio.Num, r.Ratio.Den))
	}
	return v
}

// writeBreakers prints degrade rules as a table.
func writeBreakers(w io.Writer, breakers []Breaker) error {
	domains := false
	for i := range breakers {
		domains = domains || breakers[i].Domain != ""
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(domain string, cells ...string) {
		if domains {
			cells = append([]string{domain}, cells...)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	row("DOMAIN", "BREAKER", "RESOURCE", "MODE", "OPENS", "OF CALLS", "STAYS OPEN", "PROBES")
	for i := range breakers {
		v := &breakers[i]
		domain := v.Domain
		if domain == "" {
			domain = "-"
		}
		row(domain, v.ID, v.Resource, v.Mode, v.OpensText(), v.JudgedText(), v.rule.TimeWindow.String(),
			fmt.Sprintf("%d, %v each", v.Probes, v.rule.HalfOpenTimeout))
	}
	return t.Flush()
}

// OpensText says when the breaker opens.
func (v Breaker) OpensText() string {
	opens := opensText(v.rule)
	if v.Shadow {
		opens += ", shadow"
	}
	return opens
}

func opensText(r *rule.DegradeRule) string {
	above, share := "above ", "above "+percent(r.Ratio)
	if r.OpenAt == rule.OpenReached {
		above, share = "from ", "from "+percent(r.Ratio)
	}
	if r.Ratio.Num > 0 && r.Ratio.Num == r.Ratio.Den {
		share = "at 100%"
	}
	switch r.Grade {
	case rule.GradeSlowRatio:
		return fmt.Sprintf("%s slower than %v", share, r.RTLimit)
	case rule.GradeErrorRatio:
		return share + " errors"
	case rule.GradeErrorCount:
		return above + Counted(int(r.Errors), "error")
	}
	return fmt.Sprintf("%s%v on average", above, r.RTLimit)
}

// JudgedText says which calls are judged.
func (v Breaker) JudgedText() string {
	r := v.rule
	if r.Size == 0 {
		return fmt.Sprintf("last %v in %s, if %d or more", r.StatInterval, Counted(r.SampleCount, "slot"), r.MinRequestAmount)
	}
	s := fmt.Sprintf("last %d, if %d or more", r.Size, r.MinRequestAmount)
	if r.MaxWait > 0 {
		s += fmt.Sprintf(" or after %v", r.MaxWait)
	}
	return s
}

func percent(r rule.Ratio) string {
	return shortDecimal(new(big.Rat).Mul(big.NewRat(r.Num, max(r.Den, 1)), big.NewRat(100, 1))) + "%"
}

// shortDecimal writes a number of at most nine decimals without zeros at its end.
func shortDecimal(r *big.Rat) string {
	return strings.TrimSuffix(strings.TrimRight(r.FloatString(9), "0"), ".")
}
