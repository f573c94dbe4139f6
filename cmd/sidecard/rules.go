package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/internal/ruleview"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/ruleswatch"
)

// logged bounds how many warnings or rule ids one reload puts in the log.
const logged = 50

// ruleLoader takes the files of a rule set into force. What became of them is the watcher's to tell.
type ruleLoader struct {
	engine  *engine.Engine
	log     zerolog.Logger
	options rule.Options
	maxKeys int // most parameter values that a rule may track, whatever it says
	now     func() int64

	mu     sync.Mutex
	warned map[string]bool // the warnings of the newest files, which are not logged again; guarded by mu

	origins map[string][]string // of the rules in force: their ids, by file; used by apply only
}

// apply puts the rules of files in force, or returns why they stay out. It is called from one goroutine
// at a time.
func (l *ruleLoader) apply(files []rule.File) error {
	set, problems := rule.Load(files, l.options)
	l.warn(problems.Warnings())
	if err := problems.Err(); err != nil {
		return err
	}
	set.Limits = capKeys(set.Limits, l.maxKeys)
	changes, err := l.engine.Apply(l.now(), set)
	if err != nil {
		return err
	}
	l.log.Info().
		Int("rules", set.Len()).
		Int("apis", len(set.APIs)).
		Func(ids("added", changes.Added)).
		Func(ids("removed", changes.Removed)).
		Func(ids("fresh", changes.Fresh)).
		Msg("rule changes")
	l.warnGone(files, changes.Removed)
	l.origins = origins(set)
	return nil
}

// origins returns the ids of the rules, by the name of the file that they stand in.
func origins(set rule.Set) map[string][]string {
	ids := make(map[string][]string)
	add := func(at rule.Position, id string) { ids[at.File] = append(ids[at.File], id) }
	for i := range set.Authority {
		add(set.Authority[i].Pos, set.Authority[i].ID)
	}
	for i := range set.System {
		add(set.System[i].Pos, set.System[i].ID)
	}
	for i := range set.Limits {
		add(set.Limits[i].Pos, set.Limits[i].ID)
	}
	for i := range set.Degrade {
		add(set.Degrade[i].Pos, set.Degrade[i].ID)
	}
	return ids
}

// warnGone logs the files that have gone and whose rules have left with them. A rule that leaves while
// its file stays was taken out by somebody; a file may be gone by mistake, and what its rules held back
// now passes. Ids that moved to another file have not left.
func (l *ruleLoader) warnGone(files []rule.File, removed []string) {
	if len(removed) == 0 {
		return
	}
	left := make(map[string]bool, len(removed))
	for _, id := range removed {
		left[id] = true
	}
	gone := maps.Clone(l.origins)
	for _, f := range files {
		delete(gone, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		lost := slices.DeleteFunc(gone[name], func(id string) bool { return !left[id] })
		if len(lost) > 0 {
			l.log.Warn().Str("file", name).Func(ids("removed", lost)).Msg("a rule file has gone, its rules are in force no longer")
		}
	}
}

// capKeys returns the rules with no MaxKeys above most.
func capKeys(rules []rule.LimitRule, most int) []rule.LimitRule {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].MaxKeys = min(rules[i].MaxKeys, most)
	}
	return rules
}

// warn logs the warnings that the files before did not have.
func (l *ruleLoader) warn(warnings rule.Problems) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := make(map[string]bool, len(warnings))
	fresh := 0
	for _, w := range warnings {
		text := w.String()
		if now[text] {
			continue
		}
		now[text] = true
		if l.warned[text] {
			continue
		}
		if fresh++; fresh <= logged {
			l.log.Warn().Stringer("at", w.Pos).Str("field", w.Field).Str("rule", w.Rule).Str("fix", w.Fix).Str("warning", w.Message).Msg("rule warning")
		}
	}
	if fresh > logged {
		l.log.Warn().Int("more", fresh-logged).Msg("further rule warnings are not logged, run sidecard check")
	}
	l.warned = now
}

// ids adds a list of rule ids to a log line, cut where the line would become unreadable.
func ids(name string, list []string) func(*zerolog.Event) {
	return func(e *zerolog.Event) {
		if len(list) == 0 {
			return
		}
		e.Strs(name, list[:min(len(list), logged)])
		if len(list) > logged {
			e.Int(name+"Total", len(list))
		}
	}
}

// describeRules writes how the rules stand, as lines of text.
func describeRules(w io.Writer, s ruleswatch.Status, rules int) {
	if s.Revision != "" {
		fmt.Fprintf(w, "revision: %s\nrules: %d\nin force since: %s\n", s.Revision, rules, s.AppliedAt.UTC().Format(time.RFC3339))
	}
	for _, source := range s.Sources {
		if source.Name != "" {
			fmt.Fprintf(w, "source: %s: %s since %s\n", source.Name, ruleview.Counted(source.Files, "file"), source.ChangedAt.UTC().Format(time.RFC3339))
		}
	}
	if s.Err == nil {
		fmt.Fprintln(w, "last error: none")
		return
	}
	fmt.Fprintf(w, "last error: since %s the newest rule files are not in force:\n%v\n", s.FailedAt.UTC().Format(time.RFC3339), s.Err)
}
