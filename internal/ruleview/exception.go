package ruleview

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/sidecard/sidecard/pkg/rule"
)

// Exception is a value with a count of its own.
type Exception struct {
	Value string `json:"value"`
	Count string `json:"count"`           // as written
	Limit *int64 `json:"limit,omitempty"` // over the rule's interval, or at a time; nil: unlimited
	Bound *Bound `json:"bound,omitempty"` // nil: unlimited

	text string // of the limit
}

// viewExceptions returns the exceptions of a rule, whose view is v.
func viewExceptions(r *rule.LimitRule, v Limit) []Exception {
	var views []Exception
	for i := range r.Exceptions {
		e := &r.Exceptions[i]
		view := Exception{Value: e.Value, Count: e.Count}
		own := v // as if the rule were for the value alone
		own.Limit, own.QueueMs, own.Burst, own.Shadow = nil, 0, 0, false
		if !e.Unlimited {
			alone := *r
			alone.Limit, alone.Unlimited = e.Limit, false
			if e.Limit == 0 {
				alone.Burst = 0
			}
			view.Limit, view.Bound = &e.Limit, boundOf(&alone)
			own.Limit, own.QueueMs, own.Burst = view.Limit, r.MaxQueueing.Milliseconds(), alone.Burst
		}
		view.text = own.LimitText()
		views = append(views, view)
	}
	return views
}

// writeExceptions prints the exceptions of all rules, if there are any.
func (v View) writeExceptions(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := "RULE\tVALUE\tLIMIT\tAT MOST"
	for _, r := range v.Rules {
		for _, e := range r.Exceptions {
			if head != "" {
				fmt.Fprintln(t, head)
				head = ""
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.ID, strconv.Quote(e.Value), e.text, e.Bound.String())
		}
	}
	return t.Flush()
}
