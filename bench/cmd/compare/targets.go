package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/sidecard/sidecard/bench/inprocess"
)

// target is one line of the table of targets: what was measured, judged by its median.
type target struct {
	what    string
	figures string // what else to know
	format  string // of the values and the limit
	unit    string
	values  []float64
	limit   float64
	busy    bool // the machine did so much else that missing the target says nothing
}

// calm is the most that p99 of the plain server may be, in µs, at 5 000 calls a second. Where nothing
// else runs it is a quarter of that; more is the time that others' work takes to leave a processor.
const calm = 2000

// verdict says whether the target is met; if nothing was measured, nothing.
func (t target) verdict() string {
	switch {
	case len(t.values) == 0:
		return "-"
	case median(t.values) <= t.limit:
		return "met"
	case t.busy:
		return "the machine is too busy"
	}
	return "NOT MET"
}

func printTargets(w io.Writer, targets []target) {
	printRow(w, "\n", []string{"target", "measured", "at most", "", ""})
	printRow(w, "", slices.Repeat([]string{"---"}, 5))
	for _, t := range targets {
		measured := spread(t.format, t.values)
		if len(t.values) == 1 {
			measured = fmt.Sprintf(t.format, t.values[0])
		}
		printRow(w, "", []string{t.what, measured + t.unit, fmt.Sprintf(t.format, t.limit) + t.unit, t.verdict(), t.figures})
	}
}

func decisionTargets(o inprocess.Options, f *inprocess.Figures) []target {
	cas := fmt.Sprintf("the loop %.1f ns, the window ", median(f.CAS))
	return []target{
		{what: fmt.Sprintf("a decision: 2 rules, 1 parameter, %d paths and values", o.Keys), format: "%.0f", unit: " ns", values: f.Decide, limit: 300},
		{what: "its allocations", format: "%.0f", values: []float64{f.DecideAllocs}, limit: 0},
		{what: fmt.Sprintf("among %d rules that do not concern it / among 10", 10*o.Rules), format: "%.2f",
			values: divide(f.DecideAmong, f.Decide), limit: 1.1, figures: fmt.Sprintf("%.0f ns", median(f.DecideAmong))},
		{what: "window admits / a loop around one compare-and-swap", format: "%.2f", values: divide(f.Admit, f.CAS), limit: 3,
			figures: fmt.Sprintf("%s%.1f ns", cas, median(f.Admit))},
		{what: "window refuses / the same loop", format: "%.2f", values: divide(f.Refuse, f.CAS), limit: 3,
			figures: fmt.Sprintf("%s%.1f ns", cas, median(f.Refuse))},
		{what: "key table at a load of 70 %, a key", format: "%.1f", unit: " B", values: []float64{f.KeyBytes}, limit: 24},
		{what: fmt.Sprintf("key table admits, %d keys", o.Table), format: "%.0f", unit: " ns", values: f.KeyAdmit, limit: 200},
	}
}

// loadTargets are those of the daemon as a share of the plain server.
func loadTargets(rows []row, runs [][2][]sample) []target {
	var targets []target
	judge := func(i int, m metric, limit float64, busy bool) {
		of := func(server int) string { return fmt.Sprintf(m.format+m.unit, median(column(runs[i][server], m.of))) }
		targets = append(targets, target{
			what: fmt.Sprintf("%s / plain server, %s", m.title, rows[i].title), format: "%.2f",
			values: ratios(runs[i], m.of), limit: limit, figures: of(0) + " and " + of(1), busy: busy,
		})
	}
	for i := range rows {
		judge(i, cpu, 0.9, false)
	}
	for i, r := range rows {
		if r.load.Rate > 0 {
			busy := median(column(runs[i][1], p99.of)) > calm
			judge(i, p50, 1.1, busy)
			judge(i, p99, 1.1, busy)
		}
	}
	return targets
}

func sideTargets(m *sides) []target {
	filled := target{what: fmt.Sprintf("resident, %d live keys in one rule", m.fill), format: "%.1f", unit: " MiB", limit: 64}
	if m.fill > 0 {
		filled.values = []float64{m.filled[0]}
		filled.figures = fmt.Sprintf("%d keys found no room", m.noRoom[0])
	}
	plain := func(mib float64) string { return fmt.Sprintf("plain server %.1f MiB", mib) }
	return []target{
		{what: "resident, after the first answer", format: "%.1f", unit: " MiB", values: []float64{m.idle[0]}, limit: 30, figures: plain(m.idle[1])},
		{what: "resident, after all loads", format: "%.1f", unit: " MiB", values: m.loaded[0], limit: 30, figures: plain(median(m.loaded[1]))},
		filled,
		{what: fmt.Sprintf("start to first answer, %d rules", otherRules), format: "%.0f", unit: " ms", values: m.startFull[0], limit: 100},
	}
}

func reloadTargets(o inprocess.Options, f *inprocess.Figures, m *sides) []target {
	return []target{
		{what: fmt.Sprintf("reload of %d rules, processor time", o.Rules), format: "%.1f", unit: " ms", values: f.Reload, limit: 50,
			figures: spread("%.0f", m.swap[0]) + " ms from renaming the file to the first answer by it, of which 200 let it settle"},
		{what: fmt.Sprintf("p99.9 of decisions beside %d reloads / with nothing beside", o.Reloads), format: "%.2f",
			values: divide(f.Reloading.P999, f.Quiet.P999), limit: 2,
			figures: fmt.Sprintf("%.2f and %.2f µs", median(f.Reloading.P999), median(f.Quiet.P999))},
		{what: "the longest of these decisions", format: "%.2f", unit: " ms", values: []float64{f.Reloading.Max}, limit: 5,
			busy: f.Quiet.Max > 5, figures: fmt.Sprintf("%.2f ms with nothing beside", f.Quiet.Max)},
	}
}
