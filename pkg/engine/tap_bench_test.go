package engine_test

import (
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

// BenchmarkDecideSampled is BenchmarkDecide while nobody looks at the values of the rule per user, and while somebody
// does, who reads them as often as the admin API.
func BenchmarkDecideSampled(b *testing.B) {
	b.Run("nobody", func(b *testing.B) { benchDecide(b, benchSet(1e7, 10), engine.Pass) })
	b.Run("somebody", func(b *testing.B) {
		set := benchSet(1e7, 10)
		e := newEngine(b, set)
		r := e.Rules()[1].Rule
		if _, _, ok := r.SampleValues(nil); !ok {
			b.Fatal("it is not the rule per user")
		}
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			tick := time.NewTicker(200 * time.Millisecond)
			defer tick.Stop()
			var into []engine.ValueSample
			for {
				select {
				case <-tick.C:
					into, _, _ = r.SampleValues(into[:0])
				case <-stop:
					return
				}
			}
		}()
		benchDecideOn(b, e, engine.Pass)
		close(stop)
		<-stopped
	})
}
