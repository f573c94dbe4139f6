package admin

import (
	"cmp"
	"slices"

	"github.com/sidecard/sidecard/pkg/engine"
)

// rates are what becomes of requests in a second, on average of the last pageSpan.
type rates struct {
	Pass, Block, Error float64
	RTMs               *float64 // nil: no call has ended
}

// Sum is how many requests there are.
func (r rates) Sum() float64 { return r.Pass + r.Block }

// Refused is the share of requests that are refused.
func (r rates) Refused() float64 {
	if r.Block == 0 {
		return 0
	}
	return r.Block / r.Sum()
}

// ratesOf averages over the last seconds of a history.
func ratesOf(h *History) rates {
	if h == nil {
		return rates{}
	}
	var pass, block, failed, ended, rt float64
	for i := max(0, len(h.Pass)-pageSpan); i < len(h.Pass); i++ {
		pass, block, failed, ended = pass+float64(h.Pass[i]), block+float64(h.Block[i]), failed+float64(h.Error[i]), ended+float64(h.Success[i])
		rt += h.AvgRTMs[i] * float64(h.Success[i])
	}
	r := rates{Pass: pass / float64(pageSpan), Block: block / float64(pageSpan), Error: failed / float64(pageSpan)}
	if ended > 0 {
		r.RTMs = new(rt / ended)
	}
	return r
}

// resourceRow is a resource as the page shows it.
type resourceRow struct {
	Resource
	Rates   rates
	Chart   *chart // nil: no requests
	ChartRT *chart // nil: no calls ended

	key engine.ResourceKey
}

// Label is what the resource is called.
func (r *resourceRow) Label() string {
	if r.Other {
		return "all others"
	}
	return r.Name
}

// Key identifies the resource.
func (r *resourceRow) Key() string { return r.Mode + "/" + r.Domain + "/" + r.Label() }

// viewResources shows what becomes of the requests for each resource.
func (s *Server) viewResources(v *pageView) {
	e, now := s.cfg.Engine, s.cfg.Now()
	s.history.gather(e, now)
	inbound := e.Inbound(now)
	past := s.history.of(inbound.Key(), now, historySeconds)
	v.Total, v.Chart = ratesOf(past), chartOf("requests in the last 5 minutes", past)

	states := e.Resources(now, nil)
	rows := make([]resourceRow, len(states))
	for i := range states {
		key := states[i].Key()
		rows[i] = resourceRow{Resource: s.viewResource(&states[i], now, 0), Rates: ratesOf(s.history.of(key, now, pageSpan)), key: key}
		v.Reports = v.Reports || !rows[i].NoReports
	}
	slices.SortFunc(rows, func(a, b resourceRow) int { // so that equal ones keep their places
		return cmp.Or(-cmp.Compare(number01(a.Ruled), number01(b.Ruled)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Mode, b.Mode))
	})
	busy, idle := s.history.split(rows)
	v.Idle, v.MoreIdle = idle[:min(pageIdle, len(idle))], max(0, len(idle)-pageIdle)
	rows = busy
	o := v.Query.Resources
	if _, known := resourceColumns[o.By]; !known {
		o.By, o.Descend = "refused", true
		sortBy(rows, order{By: "passed", Descend: true}, resourceColumns)
	}
	sortBy(rows, o, resourceColumns)
	v.Resources = cut(rows, v.Query.most(pageResources))
	for i := range v.Resources.Rows[:min(pageCharts, len(v.Resources.Rows))] {
		r := &v.Resources.Rows[i]
		past := s.history.of(r.key, now, historySeconds)
		r.Chart, r.ChartRT = chartOf(r.Label()+", requests", past), chartOfRT(r.Label()+", average time", past)
	}
	heads := []struct {
		by, title, note string
		figure          bool
	}{
		{"name", "Resource", "", false}, {"passed", "Passed /s", "", true}, {"refused", "Refused /s", "", true},
		{"errors", "Failed /s", "calls that ended badly, as was reported", true}, {"rt", "Avg. time", "of calls that ended, as was reported", true},
		{"inflight", "Under way", "calls that have not ended", true},
	}
	if !v.Reports {
		heads = heads[:3]
	}
	for _, c := range heads {
		v.Resources.Heads = append(v.Resources.Heads, v.Query.head(o, c.by, c.title, c.note, c.figure))
	}
}

// split returns the resources that have had requests of late, and those that have had none, each in the same order.
func (h *history) split(rows []resourceRow) (busy, idle []resourceRow) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range rows {
		if h.inUse[r.key] != nil || r.Last != (Figures{}) {
			busy = append(busy, r)
		} else {
			idle = append(idle, r)
		}
	}
	return busy, idle
}

var resourceColumns = map[string]func(a, b *resourceRow) int{
	"name":    by(func(r *resourceRow) string { return r.Label() }),
	"passed":  by(func(r *resourceRow) float64 { return r.Rates.Pass }),
	"refused": by(func(r *resourceRow) float64 { return r.Rates.Block }),
	"errors":  by(func(r *resourceRow) float64 { return r.Rates.Error }),
	"rt": by(func(r *resourceRow) float64 {
		if r.Rates.RTMs == nil {
			return -1
		}
		return *r.Rates.RTMs
	}),
	"inflight": by(func(r *resourceRow) int64 {
		if r.InFlight == nil {
			return -1
		}
		return *r.InFlight
	}),
}
