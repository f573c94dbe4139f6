package monitoring

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// memory is as much of Prometheus's storage as rules read and write.
type memory map[string]*recordedSeries // by labels

type recordedSeries struct {
	labels  labels.Labels
	samples []chunks.Sample
}

func (m memory) add(l labels.Labels, at time.Time, v float64) {
	s := m[l.String()]
	if s == nil {
		s = &recordedSeries{labels: l}
		m[l.String()] = s
	}
	s.samples = append(s.samples, sample{at.UnixMilli(), v})
}

// load adds series in promtool's notation, a value a minute: `name{label="value"} 0+10x5`.
func (m memory) load(t *testing.T, text string, begin time.Time) {
	t.Helper()
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		l, values, err := promQL.ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		delete(m, l.String())
		for i, v := range values {
			if !v.Omitted {
				m.add(l, begin.Add(time.Duration(i)*time.Minute), v.Value)
			}
		}
	}
}

// Querier implements storage.Queryable.
func (m memory) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		set := &seriesSet{at: -1}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			s := m[name]
			if !slices.ContainsFunc(matchers, func(x *labels.Matcher) bool { return !x.Matches(s.labels.Get(x.Name)) }) {
				set.series = append(set.series, storage.NewListSeries(s.labels, s.samples))
			}
		}
		return set
	}}, nil
}

// seriesSet implements storage.SeriesSet.
type seriesSet struct {
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series                { return s.series[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// sample implements chunks.Sample.
type sample struct {
	t int64
	v float64
}

func (s sample) T() int64                      { return s.t }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.v }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// evaluator runs the rules of groups each minute, as Prometheus does.
type evaluator struct {
	engine *promql.Engine
	memory memory
	since  map[string]time.Time // by alert and labels, from when on its expression has held
}

func newEvaluator(m memory) *evaluator {
	return &evaluator{
		engine: promql.NewEngine(promql.EngineOpts{MaxSamples: math.MaxInt32, Timeout: time.Minute, Parser: promQL, EnableAtModifier: true}),
		memory: m, since: make(map[string]time.Time),
	}
}

// step evaluates all rules once and returns the alerts that fire, with the labels that tell them apart.
func (e *evaluator) step(t *testing.T, groups []rulefmt.RuleGroup, at time.Time) []string {
	t.Helper()
	var firing []string
	holds := make(map[string]bool)
	for _, g := range groups {
		for _, r := range g.Rules {
			for _, s := range e.query(t, r.Expr, at) {
				if r.Record != "" {
					b := labels.NewBuilder(s.Metric)
					b.Set(model.MetricNameLabel, r.Record)
					e.memory.add(b.Labels(), at, s.F)
					continue
				}
				l := labels.NewBuilder(s.Metric).Del(model.MetricNameLabel, "job", "instance").Labels()
				name := r.Alert + l.String()
				holds[name] = true
				if _, held := e.since[name]; !held {
					e.since[name] = at
				}
				if at.Sub(e.since[name]) >= time.Duration(r.For) {
					firing = append(firing, name)
				}
			}
		}
	}
	maps.DeleteFunc(e.since, func(name string, _ time.Time) bool { return !holds[name] })
	slices.Sort(firing)
	return firing
}

func (e *evaluator) query(t *testing.T, expr string, at time.Time) promql.Vector {
	t.Helper()
	q, err := e.engine.NewInstantQuery(context.Background(), e.memory, nil, expr, at)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	r := q.Exec(context.Background())
	v, err := r.Vector()
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", expr, err))
	}
	return slices.Clone(v)
}
