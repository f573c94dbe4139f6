package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/internal/clock"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// Each minute, and not only in the first one, the daemon takes back the places of values whose windows are
// over, and says once which rule had none left.
func TestTheDaemonMaintainsTheEngineEachMinute(t *testing.T) {
	t.Parallel()
	set, problems := rule.Load([]rule.File{{Name: rulesFile, Data: []byte(
		`[{"id": "per-user", "resource": "orders", "count": 1, "intervalSec": 1, "maxKeys": 2, "paramItem": {"parseStrategy": "client_ip"}}]`)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := &daemon{log: zerolog.New(&out), clock: clock.New(), engine: engine.New(engine.Options{}), sockets: new(sockets)}
		if _, err := d.engine.Apply(d.clock.Now(), set); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			d.maintain(ctx)
		}()
		for minute := range 3 {
			for _, ip := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} {
				d.engine.Decide(d.clock.Now(), &engine.Call{Items: []engine.Request{{Resource: "orders", ClientIP: ip, Hits: 1}}})
			}
			for _, after := range []struct {
				wait time.Duration
				held int64
			}{{maintenance - time.Second, 2}, {time.Second, 0}} {
				time.Sleep(after.wait)
				synctest.Wait()
				if held, _ := d.engine.KeyTotals(); held != after.held {
					t.Errorf("minute %d, %s later: %d values have places, want %d", minute, after.wait, held, after.held)
				}
			}
		}
		stop()
		<-ended
		if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"rule":"per-user"`) {
			t.Errorf("logged %q, want one line about the rule", got)
		}
	})
}
