package admin

import (
	"slices"
	"strconv"
	"time"

	"github.com/sidecard/sidecard/internal/explain"
)

const (
	// pageSpan is how many seconds rates are averaged over.
	pageSpan = int(recentSpan / time.Second)
	// Rows of the page's tables, unless all are asked for, which is pageMost of each.
	pageLimited   = 10
	pageResources = 12
	pageRules     = 50
	pageMost      = 1000
	pageCharts    = 50 // resources with lines
	pageIdle      = 30 // resources without requests
)

// pageView is what the templates show.
type pageView struct {
	Query  pageQuery
	Assets string
	Host   string
	Now    time.Time
	Status Status
	Span   int // seconds of rates

	Total   rates
	Chart   *chart
	Limited list[ruleRow] // rules that refuse
	Open    int           // circuit breakers among them that are not closed
	Shadow  list[ruleRow] // rules that would, were they not in shadow
	Last    *ruleRow      // that refused last; nil: none has
	Hot     []Top

	Resources list[resourceRow] // that had requests
	Idle      []resourceRow     // some of those that had none
	MoreIdle  int
	Reports   bool // it is known how calls to some of them end
	Rules     list[ruleRow]
	Explained *explained // nil: nothing was asked
}

// list is the rows of a table that are shown.
type list[T any] struct {
	Rows  []T
	All   int // rows that there are
	Heads []column
}

// cut shows most rows at most.
func cut[T any](rows []T, most int) list[T] {
	return list[T]{Rows: rows[:min(most, len(rows))], All: len(rows)}
}

// Omitted is how many rows are not shown.
func (l list[T]) Omitted() int { return l.All - len(l.Rows) }

// most is how many rows of a table are shown.
func (q pageQuery) most(few int) int {
	if q.All {
		return pageMost
	}
	return few
}

// Link returns the address of a rule on the page: where it stands or, if it is not among the rows that are shown, the
// page that shows it.
func (v *pageView) Link(place int, id string) string {
	if slices.ContainsFunc(v.Rules.Rows, func(r ruleRow) bool { return r.Place == place }) {
		return "#rule-" + strconv.Itoa(place)
	}
	return v.Query.With("find", id) + "#rules"
}

func (s *Server) viewPage(q pageQuery) *pageView {
	v := &pageView{Query: q, Assets: s.page.version, Host: s.page.host, Span: pageSpan, Status: s.status()}
	v.Now = v.Status.Now
	rules := s.ruleTable()
	s.viewLimits(v, rules)
	s.viewResources(v)
	v.Rules = rules.list(q)
	if q.Ask.Asked {
		v.Explained = s.explained(q.Ask, rules)
	}
	return v
}

// explained is the answer to the question of the form.
type explained struct {
	explain.View
	Error string
	place map[ruleKey]int // of the rules in force
}

// PlaceOf returns the place of a rule among all.
func (x *explained) PlaceOf(r explain.Rule) int { return x.place[ruleKey{r.Domain, r.ID}] }

func (s *Server) explained(f askForm, rules *ruleTable) *explained {
	q, err := f.question()
	if err != nil {
		return &explained{Error: err.Error()}
	}
	x := &explained{View: explain.Of(s.cfg.Engine, s.cfg.Now(), q, explain.Options{Envoy: s.cfg.Envoy}), place: make(map[ruleKey]int)}
	for _, r := range rules.rows {
		x.place[r.key()] = r.Place
	}
	return x
}
