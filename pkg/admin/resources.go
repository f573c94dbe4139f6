package admin

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/window"
)

// Resources is the answer of /api/v1/resources.
type Resources struct {
	Now time.Time `json:"now"`
	// Inbound is the sum of all calls. A call counts once there, for as many hits as the largest of its requests.
	Inbound Resource `json:"inbound"`
	// Resources are those asked for, the ones with most requests in the last second first, then those that rules name.
	Resources []Resource `json:"resources"`
	Omitted   int        `json:"omitted"` // how many more there are
}

// Resource is what becomes of the requests for a route or an API group.
type Resource struct {
	Name   string `json:"name,omitempty"` // absent of the sum of all calls, and of Other
	Domain string `json:"domain,omitempty"`
	Mode   string `json:"mode,omitempty"` // route or api
	Ruled  bool   `json:"ruled"`          // a rule in force names it
	Other  bool   `json:"other"`          // all routes together that are not counted by name

	Last Figures `json:"last"` // the last second
	// InFlight are the calls under way; absent where nobody tells how calls end.
	InFlight *int64 `json:"inFlight,omitempty"`
	// NoReports says that the end of none of its calls has been reported, so that nothing is known of how they end.
	NoReports bool `json:"noReports"`

	History *History `json:"history,omitempty"` // only if asked for
}

// Figures are what became of requests in some time.
type Figures struct {
	Pass    int64 `json:"pass"`
	Block   int64 `json:"block"`
	Success int64 `json:"success"` // calls that ended, those that failed among them
	Error   int64 `json:"error"`   // calls that failed
	// AvgRTMs and MinRTMs are of the calls that ended, in milliseconds; absent: none did.
	AvgRTMs *float64 `json:"avgRtMs,omitempty"`
	MinRTMs *float64 `json:"minRtMs,omitempty"`
}

// History is what became of requests second by second, the oldest first. All lists are equally long; the last second
// is over.
type History struct {
	From    time.Time `json:"from"` // when the first second began
	Pass    []uint32  `json:"pass"`
	Block   []uint32  `json:"block"`
	Success []uint32  `json:"success"`
	Error   []uint32  `json:"error"`
	AvgRTMs []float64 `json:"avgRtMs"` // 0: no call ended
}

const (
	defaultResources = 100
	maxResources     = 10_000
)

// resources answers ?resource=NAME&domain=D&mode=route|api for one name, ?history=SECONDS for the past, and ?limit=N.
func (s *Server) resources(r *http.Request) (any, error) {
	q := r.URL.Query()
	limit, err := number(q, "limit", defaultResources, maxResources)
	if err != nil {
		return nil, err
	}
	seconds, err := number(q, "history", 0, historySeconds)
	if err != nil {
		return nil, err
	}
	e, now := s.cfg.Engine, s.cfg.Now()
	if seconds > 0 {
		s.history.gather(e, now)
	}
	all := e.Resources(now, nil)
	for _, by := range []struct {
		name string
		of   func(st *engine.ResourceState) string
	}{
		{"resource", func(st *engine.ResourceState) string { return st.Name }},
		{"domain", func(st *engine.ResourceState) string { return st.Domain }},
		{"mode", func(st *engine.ResourceState) string { return st.Mode.String() }},
	} {
		if want, given := q[by.name]; given {
			all = slices.DeleteFunc(all, func(st engine.ResourceState) bool { return by.of(&st) != want[0] })
		}
	}
	slices.SortStableFunc(all, func(a, b engine.ResourceState) int {
		return cmp.Or(-cmp.Compare(a.Last.Pass+a.Last.Block, b.Last.Pass+b.Last.Block), -cmp.Compare(number01(a.Ruled), number01(b.Ruled)))
	})
	inbound := e.Inbound(now)
	v := Resources{Now: at(now), Inbound: s.viewResource(&inbound, now, seconds), Resources: []Resource{}}
	v.Inbound.Mode, v.Inbound.Ruled = "", false
	for i := range all[:min(limit, len(all))] {
		v.Resources = append(v.Resources, s.viewResource(&all[i], now, seconds))
	}
	v.Omitted = len(all) - len(v.Resources)
	return v, nil
}

func number01(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *Server) viewResource(st *engine.ResourceState, now int64, seconds int) Resource {
	v := Resource{
		Name: st.Name, Domain: st.Domain, Mode: st.Mode.String(), Ruled: st.Ruled, Other: st.Other,
		Last: figures(st.Last.Statistic), NoReports: !st.Reported,
	}
	if st.Reported || st.Last.InFlight > 0 {
		v.InFlight = &st.Last.InFlight
	}
	if seconds > 0 {
		v.History = s.history.of(st.Key(), now, seconds)
	}
	return v
}

func figures(s window.Statistic) Figures {
	f := Figures{Pass: s.Pass, Block: s.Block, Success: s.Success, Error: s.Exception}
	if s.Success > 0 {
		f.AvgRTMs, f.MinRTMs = new(milliseconds(s.AvgRT())), new(milliseconds(s.MinRT))
	}
	return f
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
