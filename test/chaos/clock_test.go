//go:build e2e && linux

package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// wallClock is the first argument of this program when it is to run a daemon on a wall clock of its own.
const wallClock = "run-on-wall-clock"

// The daemon's wall clock goes three hours ahead, two days back, and home. An hour's budget neither comes
// back with it nor is a second's frozen, though the daemon sees it: its log lines carry the time.
func steppedClock(t *testing.T) row {
	if !canTrace {
		return row{instead: "not run, written for amd64 only"}
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := options(t)
	step := filepath.Join(o.Dir, "step")
	set := func(d time.Duration) {
		t.Helper()
		if err := errors.Join(os.WriteFile(step+".new", fmt.Append(nil, int64(d)), 0o644), os.Rename(step+".new", step)); err != nil {
			t.Fatal(err)
		}
	}
	set(0)
	o.Wrap = []string{program, wallClock, step}
	w := begin(t, o)
	passes := []string{"sidecard_decisions_total", `outcome="pass"`, `rule="second"`}
	for n, by := range []time.Duration{3 * time.Hour, -48 * time.Hour, 0} {
		set(by)
		tries := 0
		w.poll(fmt.Sprintf("the log to be %s ahead", by), func(context.Context) (bool, error) {
			if tries++; tries%100 == 1 { // a change of the rules is worth a line
				put(t, o.Rules, ruleSet(fmt.Sprintf(`{"id": "step-%d-%d", "resource": "images", "count": 0}`, n, tries)))
			}
			ahead, err := newestLine(w.Sidecard)
			return err == nil && (ahead-by).Abs() < time.Hour/2, errors.Join(err, fmt.Errorf("it is %s ahead", ahead))
		})
		before, err := w.sample(soon(t), passes...)
		w.must(err)
		w.untilAtLeast(before+2*secondLimit, passes...)
	}
	return w.finish()
}

// newestLine says how far the time of a daemon's last log line is ahead of now.
func newestLine(p *envoytest.Process) (time.Duration, error) {
	_, text, _ := strings.Cut(strings.TrimSpace(p.Tail(1)), " | ")
	var line struct{ Time time.Time }
	err := json.Unmarshal([]byte(text), &line)
	return time.Until(line.Time), err
}
