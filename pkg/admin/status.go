package admin

import (
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

// Daemon is how the daemon stands, as it tells the Server.
type Daemon struct {
	Build       Build
	Started     time.Time // by the wall clock at the start
	Stopping    bool
	Listeners   map[string][]string // where each setting's sockets listen
	Connections []Connections       // of all listeners, each kind once
	Waiting     int64               // calls that queues hold back at the moment
	MaxWaiting  int64
	Loading     Loading
}

// Build says what the daemon was built from.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // commit
	Go       string `json:"go"`
}

// Connections are those of one kind of listener.
type Connections struct {
	Listener string           `json:"listener"`
	Open     int              `json:"open"`
	Most     int              `json:"most"`
	Refused  map[string]int64 `json:"refused"` // since the start, by the reason
}

// Loading is how the reading of rules stands.
type Loading struct {
	AppliedAt time.Time // zero: none were applied yet
	Files     int       // in force
	Err       error     // why the newest files are not in force; nil if they are
	FailedAt  time.Time // of the newest failure
	Applied   int64     // contents put in force since the start
	Failures  int64
	Sources   []Source
}

// Source is where rules come from.
type Source struct {
	Name      string    `json:"name"`
	Files     int       `json:"files"`
	ChangedAt time.Time `json:"changedAt"`
}

// Status is the answer of /api/v1/status.
type Status struct {
	Build
	Ready     bool      `json:"ready"` // decisions are made by rules
	Stopping  bool      `json:"stopping"`
	Started   time.Time `json:"started"`
	UptimeSec int64     `json:"uptimeSec"`
	Now       time.Time `json:"now"` // by the clock that windows live by
	// DriftMs is how far the wall clock is ahead of that clock, which takes no part in its steps.
	DriftMs     int64               `json:"driftMs"`
	Rules       RulesStatus         `json:"rules"`
	Listeners   map[string][]string `json:"listeners"` // grpc is called listen, as the setting
	Connections []Connections       `json:"connections"`
	Waiting     Gauge               `json:"waiting"`   // calls that queues hold back
	Tokens      TokenStatus         `json:"tokens"`    // calls under way whose end is waited for
	Keys        Gauge               `json:"keys"`      // parameter values that all rules hold
	Resources   ResourceStatus      `json:"resources"` // that are counted
	Memory      Memory              `json:"memory"`
	System      System              `json:"system"` // what system rules look at
}

// Gauge is a number and the most that it may be.
type Gauge struct {
	Now  int64 `json:"now"`
	Most int64 `json:"most"`
}

// RulesStatus says which rules are in force, and what keeps newer ones out.
type RulesStatus struct {
	Revision  string     `json:"revision"` // of the rules in force; empty before the first
	Count     int        `json:"count"`
	Files     int        `json:"files"`
	AppliedAt *time.Time `json:"appliedAt,omitempty"` // absent before the first
	Applied   int64      `json:"applied"`             // contents put in force since the start
	Failures  int64      `json:"failures"`
	Sources   []Source   `json:"sources"`
	Error     *LoadError `json:"error,omitempty"` // absent: the newest files are in force
}

// LoadError is why the newest rule files are not in force.
type LoadError struct {
	Since time.Time `json:"since"`
	Text  string    `json:"text"` // a line for each error, of the form file:line:column: error: field: message
}

// TokenStatus is how the tokens of calls under way stand, and what became of all since the start.
type TokenStatus struct {
	Live      int64 `json:"live"`
	Issued    int64 `json:"issued"`
	Completed int64 `json:"completed"`
	Expired   int64 `json:"expired"` // their lease ended without a report
	Foreign   int64 `json:"foreign"` // reports with a token of no call under way
	// Silent are the domains whose calls have ended without any report, ever: their Envoy does not report.
	Silent []string `json:"silent"`
}

// ResourceStatus is how many resources are counted by name, and how many requests were for others.
type ResourceStatus struct {
	Known    int64 `json:"known"`
	Overflow int64 `json:"overflow"`
}

// Memory is what the process takes, in bytes.
type Memory struct {
	Resident   int64 `json:"resident,omitempty"` // absent where the system does not tell
	Heap       int64 `json:"heap"`               // objects, those that are garbage already included
	Runtime    int64 `json:"runtime"`            // all that the Go runtime has from the system
	Goroutines int   `json:"goroutines"`
}

// System is what was last measured of the system.
type System struct {
	Load *float64 `json:"load,omitempty"` // absent: not measured
	CPU  *float64 `json:"cpu,omitempty"`  // absent: not measured; 1: all that the application may have
}

func (s *Server) status() Status {
	d := s.cfg.Daemon()
	e, now := s.cfg.Engine, s.cfg.Now()
	tokens, resources, system := e.Tokens(), e.ResourceCounts(), e.System()
	held, most := e.KeyTotals()
	v := Status{
		Build: d.Build, Ready: e.Ready() && !d.Stopping, Stopping: d.Stopping, Started: d.Started.UTC(),
		UptimeSec: (now - d.Started.UnixNano()) / int64(time.Second), Now: at(now),
		DriftMs: (time.Now().UnixNano() - now) / int64(time.Millisecond),
		Rules:   s.rulesStatus(d.Loading), Listeners: d.Listeners, Connections: d.Connections,
		Waiting: Gauge{d.Waiting, d.MaxWaiting}, Keys: Gauge{held, most},
		Tokens: TokenStatus{
			Live: tokens.Live, Issued: tokens.Issued.Load(), Completed: tokens.Completed.Load(),
			Expired: tokens.Expired.Load(), Foreign: tokens.Foreign.Load(), Silent: silent(tokens),
		},
		Resources: ResourceStatus{resources.Known, resources.Overflow},
		Memory:    readMemory(),
	}
	if system.Load >= 0 {
		v.System.Load = &system.Load
	}
	if system.CPU >= 0 {
		v.System.CPU = &system.CPU
	}
	return v
}

func (s *Server) rulesStatus(l Loading) RulesStatus {
	v := RulesStatus{
		Revision: s.cfg.Engine.Revision(), Count: len(s.cfg.Engine.Rules()), Files: l.Files, Applied: l.Applied, Failures: l.Failures,
		Sources: []Source{},
	}
	if !l.AppliedAt.IsZero() {
		v.AppliedAt = new(l.AppliedAt.UTC())
	}
	for _, source := range l.Sources {
		if source.Name != "" { // it has reported
			source.ChangedAt = source.ChangedAt.UTC()
			v.Sources = append(v.Sources, source)
		}
	}
	if l.Err != nil {
		v.Error = &LoadError{Since: l.FailedAt.UTC(), Text: l.Err.Error()}
	}
	return v
}

// silent returns the domains whose calls ended without a report.
func silent(t engine.TokenStats) []string {
	names := []string{}
	for _, d := range t.Domains {
		if d.Silent() {
			names = append(names, d.Domain)
		}
	}
	return names
}

func at(now int64) time.Time { return time.Unix(0, now).UTC() }

// readMemory reads what the process takes.
func readMemory() Memory {
	read := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
	metrics.Read(read)
	m := Memory{Heap: bytesOf(read[0].Value), Runtime: bytesOf(read[1].Value), Goroutines: runtime.NumGoroutine()}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		m.Resident = resident(string(text)) * int64(os.Getpagesize())
	}
	return m
}

func bytesOf(v metrics.Value) int64 {
	if v.Kind() != metrics.KindUint64 {
		return 0 // this runtime does not know the metric
	}
	return int64(min(v.Uint64(), math.MaxInt64))
}

// resident returns the pages in memory, of the text of statm; 0 if that cannot be told.
func resident(statm string) int64 {
	fields := strings.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	n, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
