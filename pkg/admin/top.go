package admin

import (
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/sidecard/sidecard/internal/ruleview"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// Top is the answer of /api/v1/top: the values of a rule's parameter that most requests have.
type Top struct {
	Rule   string    `json:"rule"`
	Domain string    `json:"domain,omitempty"`
	Param  string    `json:"param"`
	Since  time.Time `json:"since"` // from when on requests are counted
	Now    time.Time `json:"now"`
	// Observed is how many requests were counted, those that samples stand for included.
	Observed int64 `json:"observed"`
	OneIn    int64 `json:"oneIn"`   // of so many requests one is looked at; above 1 counts are estimates
	Dropped  int64 `json:"dropped"` // samples lost because they came too fast, which the others make up for
	// Values are those that most requests have, the first the most.
	Values []Value `json:"values"`
}

// Value is a value of a parameter. It comes from clients, who may send anything.
type Value struct {
	// Value is the value as the inside of a Go string literal, so that nothing of it acts on whoever shows it: bytes
	// that are not printable are escaped, and quotes and backslashes too.
	Value string `json:"value"`
	// Bytes is its length; more than are shown if it is Truncated.
	Bytes     int  `json:"bytes"`
	Truncated bool `json:"truncated"`
	// Count is how many requests had it at most, and AtLeast at least, of those that were counted.
	Count   int64   `json:"count"`
	AtLeast int64   `json:"atLeast"`
	Share   float64 `json:"share"` // of Observed, by AtLeast
}

const (
	defaultTop = 20
	maxTop     = 100
)

// top answers ?rule=ID&domain=D&limit=N. Whoever asks makes values be collected for a minute.
func (s *Server) top(r *http.Request) (any, error) {
	q := r.URL.Query()
	limit, err := number(q, "limit", defaultTop, maxTop)
	if err != nil {
		return nil, err
	}
	compiled, err := s.ruleOf(q.Get("rule"), q.Get("domain"), q.Has("domain"))
	if err != nil {
		return nil, err
	}
	def := compiled.Definition().Limit
	if def == nil || def.Param == nil {
		return nil, problem{http.StatusNotFound, "the rule limits no parameter, so there are no values"}
	}
	v, ok := s.topOf(compiled, def, limit)
	if !ok {
		return nil, problem{http.StatusServiceUnavailable, "the values of " + strconv.Itoa(maxLooks) + " rules are being looked at already"}
	}
	return v, nil
}

// topOf returns the values that most requests have, or false if too many rules are looked at. def is the rule's, and
// has a parameter.
func (s *Server) topOf(compiled *engine.CompiledRule, def *rule.LimitRule, limit int) (Top, bool) {
	now := s.cfg.Now()
	v := Top{Rule: compiled.ID, Domain: compiled.Domain, Param: ruleview.OfLimit(def).Param, Now: at(now), Values: []Value{}}
	ok := s.values.ask(now, compiled, v.Param, func(l *look) {
		var totals []total
		totals, v.Observed = l.top(limit)
		v.Since, v.OneIn, v.Dropped = at(l.since()), l.how.OneIn, l.dropped
		for _, t := range totals {
			v.Values = append(v.Values, viewValue(t, v.Observed))
		}
	})
	return v, ok
}

// ruleOf finds a rule in force by its id, of one domain if that is given.
func (s *Server) ruleOf(id, domain string, given bool) (*engine.CompiledRule, error) {
	if id == "" {
		return nil, malformed("rule: name the rule by its id, as /api/v1/rules has it")
	}
	var found *engine.CompiledRule
	for _, st := range s.cfg.Engine.Rules() {
		switch {
		case st.Rule.ID != id || given && st.Rule.Domain != domain:
		case found != nil:
			return nil, malformed("rule: there are several rules of that id, say of which domain")
		default:
			found = st.Rule
		}
	}
	if found == nil {
		return nil, problem{http.StatusNotFound, "there is no rule of that id in force"}
	}
	return found, nil
}

func viewValue(t total, observed int64) Value {
	v := Value{
		Value: escape(t.text, t.length), Bytes: t.length, Truncated: t.length > len(t.text),
		Count: t.count, AtLeast: t.count - t.over,
	}
	if observed > 0 {
		v.Share = float64(v.AtLeast) / float64(observed)
	}
	return v
}

// escape writes a value so that it can be shown. A rune that was cut in two is left out.
func escape(text string, length int) string {
	if length > len(text) {
		for cut := 1; cut < utf8.UTFMax && cut < len(text); cut++ {
			tail := text[len(text)-cut:]
			if utf8.RuneStart(tail[0]) {
				if !utf8.FullRuneInString(tail) {
					text = text[:len(text)-cut]
				}
				break
			}
		}
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}
