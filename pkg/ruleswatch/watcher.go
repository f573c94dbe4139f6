package ruleswatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/pkg/rule"
)

// DefaultGather is how long a Watcher of several sources waits for the others once one has changed.
const DefaultGather = 100 * time.Millisecond

// Config says what a Watcher watches and what it does with it.
type Config struct {
	// Sources hold the rules, together. At least one.
	Sources []Source
	// Gather is how long a change of one source waits for changes of the others, so that what is changed
	// together is applied together. 0 means DefaultGather. A single source waits for nothing.
	Gather time.Duration
	// Apply puts the files of all sources, in the order of Sources, in force as a whole, or returns why
	// they stay out. It is called once for each content, from one goroutine at a time.
	Apply func(files []rule.File) error
	// OnResult, if set, is called after each outcome: true when the newest content of all sources is in
	// force, false when it is not, once for each failure. revision is that of the files in force, "" before
	// the first. It is called from the goroutine that calls Apply, after Status shows the outcome.
	OnResult func(ok bool, revision string)
	// Log gets one line for each applied change, each failure, each recovery and each file that a source
	// begins to skip. The zero value logs nothing.
	Log zerolog.Logger
}

// Watcher applies what its sources hold, and keeps what is in force while any of them fails. Make it with
// New; Run it once; Status may be called at any time, concurrently.
type Watcher struct {
	config Config

	mu     sync.Mutex
	status Status // guarded by mu

	// Used by Run only.
	applied    []rule.File // in force
	hasApplied bool
	refused    []rule.File // the newest files that Apply did not take
	refusedErr error       // why; nil: none since the last success
}

// Status is how the rules stand. It is a copy.
type Status struct {
	Revision  string    // of the files in force; "" before the first
	Files     int       // in force
	AppliedAt time.Time // when they came into force
	GoodAt    time.Time // when it was last found that the newest content is in force: by applying it, or by a recovery
	Err       error     // why the newest content is not in force; nil if it is, or if nothing was read yet
	FailedAt  time.Time // of the newest failure, also when it is over
	Applied   int64     // contents put in force
	Failures  int64     // failures, each counted once however long it lasts
	Sources   []SourceStatus
}

// SourceStatus is the newest state of one source, in the order of Config.Sources.
type SourceStatus struct {
	Name      string    // "" until the source has reported
	Files     int       // that it holds
	Err       error     // why they cannot be applied
	ChangedAt time.Time // of its newest report
}

// New returns a Watcher that does nothing until Run.
func New(c Config) *Watcher {
	if c.Gather <= 0 {
		c.Gather = DefaultGather
	}
	return &Watcher{config: c, status: Status{Sources: make([]SourceStatus, len(c.Sources))}}
}

// Status returns how the rules stand now.
func (w *Watcher) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.status
	s.Sources = slices.Clone(s.Sources)
	return s
}

// report is a document of the source with that index.
type report struct {
	source int
	doc    Document
}

// Run watches all sources and applies what they hold, first when each has reported once, until ctx ends;
// then it returns nil, with every goroutine ended. A source that gives up counts as failed; the others are
// still watched and what is in force stays. The error is that of a Config that cannot be run.
func (w *Watcher) Run(ctx context.Context) error {
	if len(w.config.Sources) == 0 {
		return errors.New("watch rules: no source")
	}
	if w.config.Apply == nil {
		return errors.New("watch rules: no function to apply them")
	}
	reports := make(chan report)
	var sources sync.WaitGroup
	defer sources.Wait()
	for i, s := range w.config.Sources {
		sources.Go(func() { watch(ctx, i, s, reports) })
	}
	newest := make([]Document, len(w.config.Sources))
	silent := len(newest) // sources that have not reported yet
	take := func(r report) {
		if w.took(r) {
			silent--
		}
		w.warnSkipped(newest[r.source].Skipped, r.doc.Skipped)
		newest[r.source] = r.doc
	}
	for first := true; ; {
		select {
		case <-ctx.Done():
			return nil
		case r := <-reports:
			take(r)
		}
		if silent > 0 {
			continue
		}
		if !first && len(newest) > 1 {
			gather(ctx, w.config.Gather, reports, take)
		}
		first = false
		if ctx.Err() != nil {
			return nil // nothing is applied once the daemon stops
		}
		w.consider(newest)
	}
}

// watch sends what the source reports. That it gave up is the last report of a source.
func watch(ctx context.Context, index int, s Source, reports chan<- report) {
	name := fmt.Sprintf("source %d", index+1)
	send := func(d Document) {
		select {
		case reports <- report{index, d}:
		case <-ctx.Done():
		}
	}
	err := s.Watch(ctx, func(d Document) {
		name = d.Source
		send(d)
	})
	if ctx.Err() == nil {
		if err == nil {
			err = errors.New("ended for no reason")
		}
		send(Document{Source: name, Err: fmt.Errorf("%s: is watched no longer: %w", name, err)})
	}
}

// gather takes the reports that arrive within d.
func gather(ctx context.Context, d time.Duration, reports <-chan report, take func(report)) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case r := <-reports:
			take(r)
		}
	}
}

// took records a report and returns whether it is the first of its source.
func (w *Watcher) took(r report) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.status.Sources[r.source]
	first = s.ChangedAt.IsZero()
	*s = SourceStatus{Name: r.doc.Source, Files: len(r.doc.Files), Err: r.doc.Err, ChangedAt: time.Now()}
	return first
}

// warnSkipped logs the files that a source skips now and did not skip before.
func (w *Watcher) warnSkipped(before, now []string) {
	for _, name := range now {
		if !slices.Contains(before, name) {
			w.config.Log.Warn().Str("file", name).Msg("named like a rule file and not read, rules are read from *.json, *.yaml and *.yml")
		}
	}
}

// consider applies the newest documents if they are good and new.
func (w *Watcher) consider(newest []Document) {
	var (
		files []rule.File
		errs  []error
	)
	for _, d := range newest {
		files = append(files, d.Files...)
		if d.Err != nil {
			errs = append(errs, d.Err)
		}
	}
	switch {
	case len(errs) > 0:
		w.failed(errors.Join(errs...))
	case w.hasApplied && sameFiles(files, w.applied):
		w.recovered()
	case w.refusedErr != nil && sameFiles(files, w.refused):
		w.failed(w.refusedErr) // known to be bad: what Apply said of it still holds
	default:
		if err := w.config.Apply(files); err != nil {
			w.refused, w.refusedErr = files, err
			w.failed(err)
			return
		}
		w.applied, w.hasApplied = files, true
		w.refused, w.refusedErr = nil, nil
		w.succeeded(files)
	}
}

func (w *Watcher) succeeded(files []rule.File) {
	now := time.Now()
	w.mu.Lock()
	recovered := w.status.Err != nil
	w.status.Revision, w.status.Files = rule.Revision(files), len(files)
	w.status.AppliedAt, w.status.GoodAt, w.status.Err = now, now, nil
	w.status.Applied++
	revision := w.status.Revision
	w.mu.Unlock()
	w.result(true, revision) // first: whoever has read the line finds the metrics to agree with it
	w.config.Log.Info().Str("revision", revision).Int("files", len(files)).Bool("recovered", recovered).Msg("rules applied")
}

// recovered ends a failure after which the content is again what is in force.
func (w *Watcher) recovered() {
	w.mu.Lock()
	failed := w.status.Err != nil
	if failed {
		w.status.GoodAt, w.status.Err = time.Now(), nil
	}
	revision := w.status.Revision
	w.mu.Unlock()
	if failed {
		w.result(true, revision)
		w.config.Log.Info().Str("revision", revision).Msg("rule sources recovered, the rules in force are their content again")
	}
}

// failed records and reports a failure, unless it is the one that lasts already.
func (w *Watcher) failed(err error) {
	w.mu.Lock()
	lasts := errorText(w.status.Err) == err.Error()
	if !lasts {
		w.status.Err, w.status.FailedAt = err, time.Now()
		w.status.Failures++
	}
	revision := w.status.Revision
	w.mu.Unlock()
	if lasts {
		return
	}
	message := "rules not applied, those before stay in force"
	if revision == "" {
		message = "rules not applied, none are in force yet"
	}
	w.result(false, revision)
	w.config.Log.Error().Err(err).Str("revision", revision).Msg(message)
}

func (w *Watcher) result(ok bool, revision string) {
	if w.config.OnResult != nil {
		w.config.OnResult(ok, revision)
	}
}
