package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sidecard/sidecard/internal/ruleview"
	"github.com/sidecard/sidecard/internal/terminal"
	"github.com/sidecard/sidecard/pkg/admin"
)

// topSample is what a daemon said at one time.
type topSample struct {
	status    admin.Status
	resources admin.Resources
	rules     admin.Rules
	values    *admin.Top // nil: not wanted
}

// topView is one table, and what `top -o json` prints.
type topView struct {
	Now       time.Time        `json:"now"`
	Version   string           `json:"version"`
	Revision  string           `json:"revision"` // of the rules in force
	UptimeSec int64            `json:"uptimeSec"`
	Waiting   int64            `json:"waiting"`
	Memory    int64            `json:"memory"` // bytes, resident where that is known
	Error     *admin.LoadError `json:"error,omitempty"`
	All       admin.Resource   `json:"all"`
	Resources []admin.Resource `json:"resources"` // the busiest first
	Rules     []topRule        `json:"rules"`     // those that refuse most first
	Values    *admin.Top       `json:"values,omitempty"`

	failure error // why there is nothing newer
}

// topRule is what a rule does a second, between two samples; 0 in the first one.
type topRule struct {
	ID          string  `json:"id"`
	Domain      string  `json:"domain,omitempty"`
	Resource    string  `json:"resource,omitempty"`
	Limits      string  `json:"limits"`
	Shadow      bool    `json:"shadow"`
	PassPerSec  float64 `json:"passPerSec"`
	BlockPerSec float64 `json:"blockPerSec"` // in shadow what it would refuse
	State       string  `json:"state,omitempty"`
}

// viewTop makes a table of what happened between two samples; before may be nil.
func viewTop(before, now *topSample) topView {
	s := &now.status
	v := topView{
		Now: s.Now, Version: s.Version, Revision: s.Rules.Revision, UptimeSec: s.UptimeSec, Waiting: s.Waiting.Now,
		Memory: cmp.Or(s.Memory.Resident, s.Memory.Runtime), Error: s.Rules.Error,
		All: lastSecond(now.resources.Inbound), Resources: []admin.Resource{}, Values: now.values, Rules: []topRule{},
	}
	for _, r := range now.resources.Resources {
		v.Resources = append(v.Resources, lastSecond(r))
	}
	slices.SortStableFunc(v.Resources, func(a, b admin.Resource) int {
		return -cmp.Compare(a.Last.Pass+a.Last.Block, b.Last.Pass+b.Last.Block)
	})
	type name struct{ domain, id string }
	was := make(map[name]*admin.Rule)
	elapsed := 0.0
	if before != nil {
		elapsed = now.rules.Now.Sub(before.rules.Now).Seconds()
		for i := range before.rules.Rules {
			r := &before.rules.Rules[i]
			was[name{r.Domain, r.ID}] = r
		}
	}
	for i := range now.rules.Rules {
		r := &now.rules.Rules[i]
		t := topRule{ID: r.ID, Domain: r.Domain, Resource: r.Resource, Limits: limitsText(r), Shadow: r.Shadow, State: stateText(r)}
		if w := was[name{r.Domain, r.ID}]; w != nil && elapsed > 0 {
			t.PassPerSec = max(float64(r.Passed-w.Passed), 0) / elapsed
			t.BlockPerSec = max(float64(r.Blocked+r.ShadowBlock-w.Blocked-w.ShadowBlock), 0) / elapsed
		}
		v.Rules = append(v.Rules, t)
	}
	slices.SortStableFunc(v.Rules, func(a, b topRule) int {
		return cmp.Or(-cmp.Compare(a.BlockPerSec, b.BlockPerSec), -cmp.Compare(a.PassPerSec, b.PassPerSec))
	})
	return v
}

// lastSecond gives a resource the figures of the last whole second, where the daemon keeps its past: what it calls the
// last second is half a second to a whole one, and so less than what the rules say beside it.
func lastSecond(r admin.Resource) admin.Resource {
	h := r.History
	r.History = nil
	if h == nil || len(h.Pass) == 0 {
		return r
	}
	i := len(h.Pass) - 1
	r.Last = admin.Figures{Pass: int64(h.Pass[i]), Block: int64(h.Block[i]), Success: int64(h.Success[i]), Error: int64(h.Error[i])}
	if h.Success[i] > 0 {
		r.Last.AvgRTMs = &h.AvgRTMs[i]
	}
	return r
}

// lines returns the table, made to fit a size if that is not 0.
func (v *topView) lines(size terminal.Size) []string {
	if v.Now.IsZero() && v.failure != nil {
		return []string{"no answer: " + terminal.Printable(v.failure.Error())}
	}
	out := []string{
		fmt.Sprintf("sidecard %s, up %s, rules %s, %d waiting, %s", v.Version, seconds(v.UptimeSec), v.Revision, v.Waiting, ruleview.Bytes(v.Memory)),
		fmt.Sprintf("%s: %d passed and %d blocked in the last second%s", v.Now.UTC().Format(time.TimeOnly), v.All.Last.Pass, v.All.Last.Block, endsText(&v.All)),
	}
	if v.failure != nil {
		out = append(out, "no answer since then: "+terminal.Printable(v.failure.Error()))
	}
	if v.Error != nil {
		first, _, more := strings.Cut(v.Error.Text, "\n")
		if more {
			first += " ..."
		}
		out = append(out, fmt.Sprintf("since %s the newest rule files are not in force: %s", timeText(v.Error.Since), terminal.Printable(first)))
	}
	sections := [][]string{v.resourceLines(), v.ruleLines(), v.valueLines()}
	sections = slices.DeleteFunc(sections, func(s []string) bool { return len(s) == 0 })
	room := shares(size.Height-len(out)-len(sections), sections)
	for i, s := range sections {
		out = append(out, "")
		if size.Height <= 0 {
			out = append(out, s...)
			continue
		}
		out = append(out, s[:room[i]]...)
	}
	return out
}

// shares divides lines between sections: none gets more than it has, and what one does not need the others get.
func shares(lines int, sections [][]string) []int {
	room := make([]int, len(sections))
	for given := true; given && lines > 0; {
		given = false
		for i := range sections {
			if room[i] < len(sections[i]) && lines > 0 {
				room[i]++
				lines--
				given = true
			}
		}
	}
	return room
}

// endsText says how calls ended in the last second, if anybody told.
func endsText(r *admin.Resource) string {
	if r.NoReports {
		return ""
	}
	s := fmt.Sprintf(", %d ended", r.Last.Success)
	if r.Last.AvgRTMs != nil {
		s += fmt.Sprintf(" after %.1f ms", *r.Last.AvgRTMs)
	}
	if r.InFlight != nil {
		s += fmt.Sprintf(", %d under way", *r.InFlight)
	}
	return s
}

// aligned returns rows of cells as lines with columns below each other.
func aligned(rows [][]string) []string {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	t.Flush() // into memory
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func (v *topView) resourceLines() []string {
	rows := [][]string{{"RESOURCE", "PASS/S", "BLOCK/S", "ERROR/S", "AVG RT", "UNDER WAY"}}
	for i := range v.Resources {
		r := &v.Resources[i]
		name := terminal.Printable(r.Name)
		if r.Other {
			name = "(others)"
		}
		if r.Domain != "" {
			name = terminal.Printable(r.Domain) + "/" + name
		}
		failed, took, inFlight := "-", "-", "-"
		if !r.NoReports {
			failed = fmt.Sprint(r.Last.Error)
		}
		if r.Last.AvgRTMs != nil {
			took = fmt.Sprintf("%.1f ms", *r.Last.AvgRTMs)
		}
		if r.InFlight != nil {
			inFlight = fmt.Sprint(*r.InFlight)
		}
		rows = append(rows, []string{name, fmt.Sprint(r.Last.Pass), fmt.Sprint(r.Last.Block), failed, took, inFlight})
	}
	if len(rows) == 1 {
		return nil
	}
	return aligned(rows)
}

func (v *topView) ruleLines() []string {
	rows := [][]string{{"RULE", "PASS/S", "BLOCK/S", "LIMITS", "STATE"}}
	for _, r := range v.Rules {
		blocked := fmt.Sprintf("%.0f", r.BlockPerSec)
		if r.Shadow {
			blocked = "(" + blocked + ")"
		}
		name := terminal.Printable(r.ID)
		if r.Domain != "" {
			name = terminal.Printable(r.Domain) + "/" + name
		}
		rows = append(rows, []string{name, fmt.Sprintf("%.0f", r.PassPerSec), blocked, r.Limits, cmp.Or(r.State, "-")})
	}
	if len(rows) == 1 {
		return nil
	}
	return aligned(rows)
}

func (v *topView) valueLines() []string {
	if v.Values == nil {
		return nil
	}
	rows := [][]string{{"VALUE OF " + strings.ToUpper(terminal.Printable(v.Values.Param)), "SHARE", "REQUESTS"}}
	for _, value := range v.Values.Values {
		text := `"` + value.Value + `"`
		if value.Truncated {
			text += fmt.Sprintf("... of %d bytes", value.Bytes)
		}
		count := fmt.Sprint(value.Count)
		if value.AtLeast < value.Count {
			count = fmt.Sprintf("%d to %d", value.AtLeast, value.Count)
		}
		rows = append(rows, []string{text, fmt.Sprintf("%.1f%%", value.Share*100), count})
	}
	if len(rows) == 1 {
		rows = append(rows, []string{"none yet"})
	}
	return aligned(rows)
}
