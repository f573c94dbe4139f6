//go:build e2e && linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// patience is how long any one thing that is waited for may take on a machine that is busy.
const patience = time.Minute

const rulesFile = "gw-flow-rules.json"

// ruleSet writes them as a file, with more rules behind them.
func ruleSet(more ...string) string {
	return "[" + strings.Join(append([]string{
		fmt.Sprintf(`{"id": "closed", "resource": "other", "count": %d}`, closedLimit),
		fmt.Sprintf(`{"id": "hourly", "resource": "orders", "count": %d, "intervalSec": 3600, "window": "strict"}`, hourlyLimit),
		fmt.Sprintf(`{"id": "second", "resource": "search", "count": %d, "intervalSec": 1, "window": "strict"}`, secondLimit),
		fmt.Sprintf(`{"id": "session", "resource": "cart", "count": %d, "intervalSec": 3600, "window": "strict",
			"paramItem": {"parseStrategy": "cookie", "fieldName": "session"}}`, sessionLimit),
	}, more...), ",\n") + "]"
}

// makeRequest makes the n-th request of a run.
func makeRequest(url string, n int) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodGet, url+routes[n%len(routes)], nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set(envoytest.NoteHeader, note(n))
	r.Header.Set("Cookie", "session="+session(n))
	return r, nil
}

// world is an Envoy, a daemon and an application under load.
type world struct {
	*envoytest.Stack
	t       *testing.T
	url     atomic.Pointer[string] // of the Envoy that requests are sent to
	end     chan struct{}          // ends the load
	replies chan []envoytest.Reply

	lives  []life
	limits envoytest.Limits // of Envoys that have been killed
	peak   float64
	row    row
}

// options are those of a run: the shipped bootstrap, a rule directory and a directory of its own.
func options(t *testing.T) envoytest.Options {
	t.Helper()
	dir, err := os.MkdirTemp("", "sidecard") // a short path, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	o := envoytest.Options{Bootstrap: "../../envoy/envoy.yaml", Rules: filepath.Join(dir, "rules"), Dir: dir}
	if o.Envoy, err = envoytest.Program("ENVOY", "envoy"); err != nil {
		t.Fatal(err)
	}
	if o.Sidecard, err = envoytest.Program("SIDECARD", "sidecard"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(o.Rules, 0o755); err != nil {
		t.Fatal(err)
	}
	return o
}

// begin writes the rules, starts what o says and the load, and returns when every budget is used up.
func begin(t *testing.T, o envoytest.Options) *world {
	t.Helper()
	put(t, o.Rules, ruleSet())
	s, err := envoytest.Start(soon(t), o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Stack: s, t: t, end: make(chan struct{}), replies: make(chan []envoytest.Reply, 1), lives: []life{{}}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("ends of the logs:\n" + s.Tails(30))
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	w.must(s.WaitReady(soon(t)))
	w.url.Store(&s.URL)
	client := envoytest.NewClient("")
	t.Cleanup(client.CloseIdleConnections)
	load := envoytest.Load{Every: 5 * time.Millisecond, Total: 1 << 17, Until: w.end, Request: func(n int) *http.Request {
		r, err := makeRequest(*w.url.Load(), n)
		if err != nil {
			panic(err) // from a fixed text
		}
		return r
	}}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() { w.replies <- load.Run(ctx, client) }()
	w.untilUsedUp()
	w.row.before = w.usage()
	return w
}

// finish ends the load, waits until the daemon takes no more than before, and judges.
func (w *world) finish() row {
	w.t.Helper()
	const spare = 12 // of what a request or a scrape under way takes
	w.poll("the daemon to give back goroutines and descriptors", func(ctx context.Context) (bool, error) {
		now, err := w.read(ctx)
		w.row.after = now
		return now.goroutines <= w.row.before.goroutines+spare && now.fds <= w.row.before.fds+spare,
			errors.Join(err, fmt.Errorf("it takes %+v, before %+v", now, w.row.before))
	})
	w.notePeak()
	w.row.lost = w.lost()
	close(w.end)
	replies := <-w.replies
	w.noteLimits()
	w.row.outcome = judge(replies, w.Upstream.Arrivals(), w.lives)
	w.row.allowed, w.row.peak = w.limits.Allowed, max(w.peak, w.row.before.rss, w.row.after.rss)

	o := w.row.outcome
	if o.wrongly() > 0 {
		w.t.Errorf("admitted above the bound: %v", o.wrong)
	}
	if w.row.lost != 0 {
		w.t.Errorf("%d rules lost", w.row.lost)
	}
	// Each that Envoy let pass it has counted. More would be a limit that was not applied.
	if int64(o.letThrough) > w.limits.Allowed {
		w.t.Errorf("%d requests passed without a word of a rule, Envoy let %d pass", o.letThrough, w.limits.Allowed)
	}
	if o.admitted["hourly"] == 0 || o.admitted["second"] == 0 {
		w.t.Errorf("nothing was admitted: %+v", o)
	}
	w.t.Logf("%+v, %+v", o, w.limits)
	return w.row
}

// must fails the test at once if there is an error.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) poll(what string, ok func(context.Context) (bool, error)) {
	w.t.Helper()
	w.must(envoytest.Poll(soon(w.t), what, ok))
}

// pause lets the load run.
func (w *world) pause(d time.Duration) {
	w.t.Helper()
	w.must(envoytest.Pause(w.t.Context(), d))
}

// sample reads a metric of the daemon, given as its name and labels.
func (w *world) sample(ctx context.Context, metric ...string) (float64, error) {
	text, err := w.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	_, value, err := envoytest.Sample(text, metric[0], metric[1:]...)
	return value, err
}

// untilAtLeast waits until a metric of the daemon has reached a value.
func (w *world) untilAtLeast(want float64, metric ...string) {
	w.t.Helper()
	w.poll(fmt.Sprintf("%v to reach %v", metric, want), func(ctx context.Context) (bool, error) {
		got, err := w.sample(ctx, metric...)
		return err == nil && got >= want, errors.Join(err, fmt.Errorf("it is %v", got))
	})
}

// untilUsedUp waits until the daemon has refused by every rule, by session all of them: from here on it
// admits nothing by the hour.
func (w *world) untilUsedUp() {
	w.t.Helper()
	for rule, n := range map[string]float64{"closed": 1, "hourly": 1, "second": 1, "session": 3 * sessions} {
		w.untilAtLeast(n, refusals(rule)...)
	}
}

func (w *world) read(ctx context.Context) (usage, error) {
	text, err := w.Metrics(ctx)
	if err != nil {
		return usage{}, err
	}
	var u usage
	var errs []error
	for name, into := range map[string]*float64{
		"process_resident_memory_bytes": &u.rss, "go_goroutines": &u.goroutines, "process_open_fds": &u.fds,
	} {
		_, value, err := envoytest.Sample(text, name)
		*into, errs = value, append(errs, err)
	}
	return u, errors.Join(errs...)
}

func (w *world) usage() usage {
	w.t.Helper()
	u, err := w.read(soon(w.t))
	w.must(err)
	return u
}

// notePeak reads the most memory that the daemon has had, before it is killed.
func (w *world) notePeak() {
	w.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.daemon()))
	w.must(err)
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			w.must(err)
			w.peak = max(w.peak, kib*1024)
		}
	}
}

// daemon is the process id of the daemon, which is the child of what runs it if that did not become it.
func (w *world) daemon() int {
	w.t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", w.Sidecard.PID()))
	w.must(err)
	for _, list := range lists {
		if text, err := os.ReadFile(list); err == nil && len(text) > 0 {
			pid, err := strconv.Atoi(strings.Fields(string(text))[0])
			w.must(err)
			return pid
		}
	}
	return w.Sidecard.PID()
}

// noteLimits adds the counters of the Envoy that runs, before it is killed.
func (w *world) noteLimits() {
	w.t.Helper()
	l, err := w.Limits(soon(w.t))
	w.must(err)
	w.limits.OK, w.limits.Over = w.limits.OK+l.OK, w.limits.Over+l.Over
	w.limits.Errors, w.limits.Allowed = w.limits.Errors+l.Errors, w.limits.Allowed+l.Allowed
}

// lost waits until each rule has refused anew, and returns how many did not.
func (w *world) lost() int {
	w.t.Helper()
	missing := make(map[string]float64)
	for _, rule := range []string{"closed", "hourly", "second", "session"} {
		n, err := w.sample(soon(w.t), refusals(rule)...)
		w.must(err)
		missing[rule] = n
	}
	if err := envoytest.Poll(soon(w.t), "every rule to refuse", func(ctx context.Context) (bool, error) {
		for rule, before := range missing {
			if n, err := w.sample(ctx, refusals(rule)...); err == nil && n > before {
				delete(missing, rule)
			}
		}
		return len(missing) == 0, fmt.Errorf("%v did not", missing)
	}); err != nil {
		w.t.Error(err)
	}
	return len(missing)
}

// refusals are name and labels of the metric that counts what a rule has refused.
func refusals(rule string) []string {
	return []string{"sidecard_decisions_total", `outcome="block"`, fmt.Sprintf("rule=%q", rule)}
}

// killSidecard ends the daemon without warning, and with it its life.
func (w *world) killSidecard() {
	w.t.Helper()
	w.notePeak()
	w.lives[len(w.lives)-1].to = time.Now()
	w.must(w.Sidecard.Signal(syscall.SIGKILL))
	if err := w.Sidecard.Wait(soon(w.t)); err == nil {
		w.t.Error("a killed daemon ended well")
	}
}

// newSidecard starts the next daemon and waits until it has used up what it may give.
func (w *world) newSidecard() {
	w.t.Helper()
	w.lives = append(w.lives, life{from: time.Now()})
	w.must(w.StartSidecard())
	w.must(w.WaitReady(soon(w.t)))
	w.untilUsedUp()
}

// put replaces the rule file of a directory at once.
func put(t *testing.T, dir, content string) {
	t.Helper()
	next := filepath.Join(dir, ".new")
	if err := os.WriteFile(next, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, rulesFile)); err != nil {
		t.Fatal(err)
	}
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
