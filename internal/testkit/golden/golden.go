// Package golden turns traces of what other limiters decide into rules and case files, so that they are
// replayed by the very code that users test their rules with. testdata/traces.jsonl holds them: most come from
// Sentinel 1.8.9, resilience4j 2.4.0 and Spring's AntPathMatcher on a clock that could be set.
package golden

import (
	"bufio"
	"bytes"
	_ "embed" // the traces
	"encoding/json"
	"fmt"
)

//go:embed testdata/traces.jsonl
var traces []byte

// Answers is what this project does with a trace.
type Answers string

// What it does.
const (
	Same    Answers = "same"    // decides so too
	Differs Answers = "differs" // decides otherwise, for a reason
	Info    Answers = "info"    // nothing to be compared with
)

// Trace is what one limiter decided.
type Trace struct {
	ID      string
	Group   string
	Engine  string // the limiter
	Version string // of it
	Answer  Answers
	With    map[string]string // settings that rules need for the same answer
	Why     string            // the answer differs, or there is nothing to compare with
	Rules   []map[string]any
	Events  []Event
	Ours    []Event // what this project decides where it differs
	Refused string  // or what is wrong with the rules, a part of the error
	// AtOnce says that the calls of a trace end before the next one begins, although by its clock they take longer
	// than that: how long they took is told as they begin.
	AtOnce bool `json:"at_once"`
}

// Event is one event of a trace, whatever its group.
type Event struct {
	At       int64  `json:"t_ms"`
	Op       string // empty: a request
	Expect   any    // pass, block, wait:MS, ok; a number; match, no match
	Repeat   int
	Resource string
	Acquire  int64
	Request  map[string]string // h.NAME, q.NAME, c.NAME, ip
	API      bool              // not by its route, but by the API group of that name
	Param    any
	Origin   *string

	RT       *int64 `json:"rt_ms"` // the call ends so much later
	Duration int64  `json:"duration_ms"`
	Error    bool
	State    string `json:"state_after"`

	Amount int64            // of an add
	Rules  []map[string]any // of a reload
	Values string           // of a sweep: the first and the last

	Pattern, Path string // of a match

	// Of a call of Envoy's rate limit service.
	Descriptor [][2]string
	Hits       int64  `json:"hits_addend"`
	Remaining  *int64 `json:"limit_remaining"`
}

// Traces returns all traces, in the order of the file.
func Traces() ([]Trace, error) {
	var all []Trace
	lines := bufio.NewScanner(bytes.NewReader(traces))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		dec.DisallowUnknownFields()
		dec.UseNumber()
		var t Trace
		if err := dec.Decode(&t); err != nil {
			return nil, fmt.Errorf("trace %d: %w", len(all)+1, err)
		}
		all = append(all, t)
	}
	return all, lines.Err()
}

// expected returns the events that are asserted.
func (t *Trace) expected() []Event {
	if t.Answer == Differs {
		return t.Ours
	}
	return t.Events
}
