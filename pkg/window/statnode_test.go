package window

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// TestStatisticNodeLosesNothing: callers with clocks that differ count while slots end and others read. In
// the end every count is in the minute, once.
func TestStatisticNodeLosesNothing(t *testing.T) {
	t.Parallel()
	const callers, each = 16, 3000
	s := new(StatisticNode)
	var clock atomic.Int64
	clock.Store(epoch)
	var reading, done sync.WaitGroup
	stop := make(chan struct{})
	reading.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			r := s.LastSecond(clock.Load())
			if r.InFlight < 0 || r.InFlight > callers || r.Pass < 0 || r.Exception > r.Success+callers {
				t.Errorf("read %+v", r)
				return
			}
			s.Maintain(clock.Load())
			runtime.Gosched()
		}
	})
	for g := range callers {
		done.Go(func() {
			for i := range each {
				// Less than a minute in all.
				now := clock.Add(int64(time.Millisecond)) - int64(i%3)*int64(300*time.Millisecond)
				s.Pass(now, uint32(g), 2)
				s.Begin(uint32(g))
				s.Block(now, uint32(g), 3)
				s.Complete(now, uint32(g+1), 5*time.Millisecond, i%2 == 0)
				s.Withdraw(now, now, 1)
			}
		})
	}
	done.Wait()
	close(stop)
	reading.Wait()
	var sum Statistic
	for _, m := range s.Minute(clock.Load(), nil) {
		sum.Pass += m.Pass
		sum.Block += m.Block
		sum.Exception += m.Exception
		sum.Success += m.Success
		sum.RT += m.RT
		if m.Success > 0 && m.MinRT != 5*time.Millisecond {
			t.Errorf("least RT %v in a second of %d calls", m.MinRT, m.Success)
		}
	}
	const n = callers * each
	want := Statistic{Pass: n, Block: 3 * n, Exception: n / 2, Success: n, RT: n * 5 * time.Millisecond}
	if sum != want {
		t.Errorf("counted %+v, want %+v", sum, want)
	}
	if got := s.InFlight(); got != 0 {
		t.Errorf("%d in flight", got)
	}
}

// TestStatisticNodeAllocatesNothing: neither to count, nor to read what decisions ask for, slots ending or not.
func TestStatisticNodeAllocatesNothing(t *testing.T) {
	s := new(StatisticNode)
	s.Pass(epoch, 0, 1)
	s.Pass(epoch+int64(time.Second), 0, 1) // the minute is there
	s.spreadOut()
	now := epoch
	if got := testing.AllocsPerRun(1000, func() {
		s.Pass(now, 1, 1)
		s.Block(now, 1, 1)
		s.Begin(1)
		s.Complete(now, 1, time.Millisecond, true)
		s.Withdraw(now, now, 1)
		s.LastSecond(now)
		s.PassedLastSecond(now)
		s.PreviousPass(now)
		now += int64(100 * time.Millisecond)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// TestStatisticNodeMemory: a node without traffic is small, and gets so again when its traffic has ended.
func TestStatisticNodeMemory(t *testing.T) {
	t.Parallel()
	s := new(StatisticNode)
	s.Pass(epoch, 0, 1)
	s.LastSecond(epoch + int64(time.Second))
	if s.minute == nil {
		t.Fatal("no minute")
	}
	if size := unsafe.Sizeof(*s.minute); size > 2400 {
		t.Errorf("a minute of %d bytes", size)
	}
	s.Maintain(epoch + int64(59*time.Second))
	if s.minute == nil {
		t.Error("the minute was dropped while it held a pass")
	}
	s.Maintain(epoch + int64(61*time.Second))
	if s.minute != nil {
		t.Error("the minute is kept though it is empty")
	}
}
