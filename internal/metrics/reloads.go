package metrics

import (
	"sync"
	"time"
)

// reloadState is what became of the rule files. The zero value is that before the first were read.
type reloadState struct {
	mu         sync.Mutex // guards what follows
	good, bad  int64
	upToDate   bool
	lastGood   time.Time
	lastLength time.Duration
	revision   string // of the rules in force; empty before the first
}

// Applied records that the newest rule files are in force, and their revision.
func (m *Metrics) Applied(revision string, at time.Time) {
	m.enter()
	r := &m.reloads
	r.mu.Lock()
	defer r.mu.Unlock()
	r.good++
	r.upToDate, r.lastGood, r.revision = true, at, revision
}

// Refused records that rules could not be read or were not fit to be put in force.
func (m *Metrics) Refused() {
	r := &m.reloads
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bad++
	r.upToDate = false
}

// Took records how long it took to make rules of the newest files, or to find that they are none.
func (m *Metrics) Took(d time.Duration) {
	r := &m.reloads
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastLength = d
}

func (r *reloadState) show(s scrape) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.set(reloads, float64(r.good), "success")
	s.set(reloads, float64(r.bad), "error")
	s.set(reloadOK, truth(r.upToDate))
	s.set(reloadDuration, seconds(r.lastLength))
	at := 0.0
	if !r.lastGood.IsZero() {
		at = float64(r.lastGood.UnixNano()) / 1e9
	}
	s.set(reloadTime, at)
	if r.revision != "" {
		s.set(rulesInfo, 1, label(r.revision))
	}
}
