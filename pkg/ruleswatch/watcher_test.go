package ruleswatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/pkg/rule"
)

// scripted is a source whose states the test decides.
type scripted struct {
	docs chan Document // closed: the source gives up
	err  error         // with this
}

func newScripted() *scripted { return &scripted{docs: make(chan Document)} }

func (s *scripted) Watch(ctx context.Context, emit func(Document)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case d, ok := <-s.docs:
			if !ok {
				return s.err
			}
			emit(d)
		}
	}
}

// say makes the source report a content of one file.
func (s *scripted) say(name, data string) {
	s.docs <- Document{Source: name, Files: []rule.File{{Name: name, Data: []byte(data)}}}
	synctest.Wait()
}

func (s *scripted) fail(name, message string) {
	s.docs <- Document{Source: name, Err: errors.New(message)}
	synctest.Wait()
}

// bench is a Watcher under virtual time whose Apply refuses every content that holds "bad".
type bench struct {
	*Watcher
	sources []*scripted
	stop    func()
	log     *bytes.Buffer

	mu      sync.Mutex
	applies []string // what Apply was given; guarded by mu
	results []string // what OnResult was told; guarded by mu
}

func run(t *testing.T, sources int, body func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := &bench{log: new(bytes.Buffer)}
		c := Config{Log: zerolog.New(b.log)}
		for range sources {
			s := newScripted()
			b.sources = append(b.sources, s)
			c.Sources = append(c.Sources, s)
		}
		c.Apply = func(files []rule.File) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			var all []string
			for _, f := range files {
				all = append(all, string(f.Data))
			}
			b.applies = append(b.applies, strings.Join(all, "+"))
			if strings.Contains(strings.Join(all, ""), "bad") {
				return fmt.Errorf("refused %s", all)
			}
			return nil
		}
		c.OnResult = func(ok bool, revision string) {
			if got := b.Status().Revision; got != revision {
				t.Errorf("OnResult was told revision %q, Status shows %q", revision, got)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			b.results = append(b.results, map[bool]string{true: "ok", false: "failed"}[ok])
		}
		b.Watcher = New(c)
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		b.stop = sync.OnceFunc(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		synctest.Wait()
		body(b)
		b.stop()
	})
}

func (b *bench) wantApplies(t *testing.T, want ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.applies, want) {
		t.Errorf("applied %q, want %q", b.applies, want)
	}
}

func (b *bench) wantResults(t *testing.T, want ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.results, want) {
		t.Errorf("results %q, want %q", b.results, want)
	}
}

// wantError wants the status to show this error, "" for none.
func (b *bench) wantError(t *testing.T, want string) {
	t.Helper()
	if got := errorText(b.Status().Err); got != want {
		t.Errorf("status shows %q, want %q", got, want)
	}
}

func (b *bench) wantLines(t *testing.T, want int) {
	t.Helper()
	if got := strings.Count(b.log.String(), "\n"); got != want {
		t.Errorf("%d log lines, want %d:\n%s", got, want, b.log)
	}
}

func TestWatcherAppliesEachContentOnce(t *testing.T) {
	t.Parallel()
	run(t, 1, func(b *bench) {
		b.wantApplies(t)
		s := b.sources[0]
		s.say("a", "1")
		s.say("a", "1")
		b.wantApplies(t, "1")
		s.say("a", "2")
		s.say("a", "1")
		b.wantApplies(t, "1", "2", "1")
		b.wantResults(t, "ok", "ok", "ok")
		b.wantLines(t, 3)
		got := b.Status()
		if got.Applied != 3 || got.Failures != 0 || got.Err != nil || got.Files != 1 {
			t.Errorf("got %+v", got)
		}
		if want := rule.Revision([]rule.File{{Name: "a", Data: []byte("1")}}); got.Revision != want {
			t.Errorf("revision %q, want %q", got.Revision, want)
		}
	})
}

func TestWatcherKeepsLastGood(t *testing.T) {
	t.Parallel()
	run(t, 1, func(b *bench) {
		s := b.sources[0]
		s.say("a", "1")
		good := b.Status()
		time.Sleep(time.Second) // virtual

		s.fail("a", "lost")
		b.wantError(t, "lost")
		s.fail("a", "lost") // lasts: counted and logged once
		s.say("a", "bad")
		b.wantError(t, "refused [bad]")
		s.say("a", "bad")
		s.fail("a", "lost")
		s.say("a", "bad") // known already: not tried again
		b.wantError(t, "refused [bad]")
		b.wantApplies(t, "1", "bad")
		b.wantResults(t, "ok", "failed", "failed", "failed", "failed")
		b.wantLines(t, 5)
		got := b.Status()
		if got.Revision != good.Revision || !got.AppliedAt.Equal(good.AppliedAt) || !got.GoodAt.Equal(good.GoodAt) || got.Failures != 4 {
			t.Errorf("got %+v, want what is in force as before: %+v", got, good)
		}
		if !got.FailedAt.After(got.GoodAt) {
			t.Errorf("failed at %v, good at %v", got.FailedAt, got.GoodAt)
		}

		time.Sleep(time.Second)
		s.say("a", "1") // back to what is in force: the error ends, nothing is applied
		b.wantError(t, "")
		b.wantApplies(t, "1", "bad")
		b.wantResults(t, "ok", "failed", "failed", "failed", "failed", "ok")
		b.wantLines(t, 6)
		if got := b.Status(); !got.AppliedAt.Equal(good.AppliedAt) || !got.GoodAt.After(got.FailedAt) {
			t.Errorf("after the recovery: %+v", got)
		}

		s.say("a", "bad") // refused before, and still not tried again
		b.wantError(t, "refused [bad]")
		s.say("a", "2")
		b.wantError(t, "")
		s.say("a", "bad") // a success in between: the world has changed, so it is tried
		b.wantApplies(t, "1", "bad", "2", "bad")
	})
}

func TestWatcherStartsBad(t *testing.T) {
	t.Parallel()
	run(t, 1, func(b *bench) {
		s := b.sources[0]
		s.fail("a", "missing")
		s.say("a", "bad")
		b.wantResults(t, "failed", "failed")
		if got := b.Status(); got.Revision != "" || got.Err == nil || !got.GoodAt.IsZero() {
			t.Errorf("got %+v", got)
		}
		if !strings.Contains(b.log.String(), "none are in force yet") {
			t.Errorf("the log does not say so: %s", b.log)
		}
		s.say("a", "1")
		b.wantApplies(t, "bad", "1")
		b.wantError(t, "")
		if !strings.Contains(b.log.String(), `"recovered":true`) {
			t.Errorf("the log does not show the recovery: %s", b.log)
		}
	})
}

func TestWatcherMergesSources(t *testing.T) {
	t.Parallel()
	run(t, 3, func(b *bench) {
		b.sources[2].say("c", "3")
		b.sources[0].say("a", "1")
		time.Sleep(time.Hour) // without the second one nothing is known to be whole
		synctest.Wait()
		b.wantApplies(t)
		if got := b.Status(); got.Err != nil || got.Sources[1].Name != "" || got.Sources[2].Name != "c" {
			t.Errorf("got %+v", got)
		}
		b.sources[1].say("b", "2")
		b.wantApplies(t, "1+2+3") // at once, in the order of the sources

		b.sources[0].say("a", "4")
		wait(DefaultGather / 2)
		b.sources[2].say("c", "5")
		b.wantApplies(t, "1+2+3")
		wait(DefaultGather)
		b.wantApplies(t, "1+2+3", "4+2+5") // what changed together is applied together

		b.sources[1].fail("b", "b is lost")
		b.sources[2].fail("c", "c is lost")
		wait(DefaultGather)
		b.wantError(t, "b is lost\nc is lost")
		b.sources[0].say("a", "6") // not applied while another source fails
		wait(DefaultGather)
		b.wantApplies(t, "1+2+3", "4+2+5")
		b.sources[1].say("b", "2")
		wait(DefaultGather)
		b.wantError(t, "c is lost")
		b.sources[2].say("c", "5")
		wait(DefaultGather)
		b.wantApplies(t, "1+2+3", "4+2+5", "6+2+5")
		b.wantError(t, "")
		names := make(map[string]int)
		for _, s := range b.Status().Sources {
			names[s.Name] = s.Files
		}
		if !maps.Equal(names, map[string]int{"a": 1, "b": 1, "c": 1}) {
			t.Errorf("sources: %v", names)
		}
	})
}

// Reports in an endless stream are applied all the same, at the pace of the gathering.
func TestWatcherGatherIsBounded(t *testing.T) {
	t.Parallel()
	run(t, 2, func(b *bench) {
		b.sources[0].say("a", "0")
		b.sources[1].say("b", "x")
		for i := range 100 {
			b.sources[0].say("a", fmt.Sprint(i+1))
			wait(DefaultGather / 10)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if got := len(b.applies); got < 9 || got > 13 {
			t.Errorf("applied %d times in ten gatherings, want about 10: %v", got, b.applies)
		}
	})
}

func TestWatcherSourceGivesUp(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("no such server")} {
		run(t, 2, func(b *bench) {
			b.sources[0].say("a", "1")
			b.sources[1].say("b", "2")
			b.sources[1].err = err
			close(b.sources[1].docs)
			wait(DefaultGather)
			want := "b: is watched no longer: ended for no reason"
			if err != nil {
				want = "b: is watched no longer: no such server"
			}
			b.wantError(t, want)
			b.wantApplies(t, "1+2") // and in force
		})
	}
}

// Nothing is applied once the end has come, and the end waits for an Apply that runs.
func TestWatcherEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, other := newScripted(), newScripted()
		applies, release := 0, make(chan struct{})
		w := New(Config{Sources: []Source{s, other}, Apply: func([]rule.File) error {
			applies++
			<-release
			return nil
		}})
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		s.say("a", "1")
		other.say("b", "1")
		go func() { s.docs <- Document{Source: "a", Err: errors.New("late")} }() // blocks in the source's emit
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("Run returned while Apply ran")
		default:
		}
		close(release)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if applies != 1 || w.Status().Err != nil {
			t.Errorf("%d applies, %+v", applies, w.Status())
		}
	})
}

func TestWatcherEndsWhileGathering(t *testing.T) {
	t.Parallel()
	run(t, 2, func(b *bench) {
		b.sources[0].say("a", "1")
		b.sources[1].say("b", "2")
		b.sources[0].say("a", "3")
		wait(DefaultGather / 2)
		b.stop()
		b.wantApplies(t, "1+2")
	})
}

func TestWatcherConfig(t *testing.T) {
	t.Parallel()
	if err := New(Config{Apply: func([]rule.File) error { return nil }}).Run(t.Context()); err == nil {
		t.Error("no source was taken")
	}
	if err := New(Config{Sources: []Source{newScripted()}}).Run(t.Context()); err == nil {
		t.Error("no Apply was taken")
	}
}

// Status is read beside a running Watcher, and what it returned is the caller's.
func TestWatcherStatusConcurrent(t *testing.T) {
	t.Parallel()
	run(t, 1, func(b *bench) {
		var readers sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			readers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					s := b.Status()
					s.Sources[0].Name = "mine"
					if s.Applied > 0 && s.Revision == "" {
						t.Error("applied without a revision")
					}
				}
			})
		}
		for i := range 200 {
			b.sources[0].docs <- Document{Source: "a", Files: []rule.File{{Name: "a", Data: fmt.Append(nil, i)}}}
		}
		close(stop)
		readers.Wait()
		synctest.Wait()
		if got := b.Status(); got.Sources[0].Name != "a" || got.Applied != 200 {
			t.Errorf("got %+v", got)
		}
	})
}
