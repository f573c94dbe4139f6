package ruleswatch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
)

func doc(data string) Document {
	return Document{Source: "s", Files: []rule.File{{Name: "a.yaml", Data: []byte(data)}}}
}

// settling is a settler under virtual time whose content the test changes.
type settling struct {
	start time.Time
	maybe chan struct{}
	end   func() // returns when the settler has ended

	mu      sync.Mutex
	content Document        // guarded by mu
	reads   int             // guarded by mu
	got     []Document      // guarded by mu
	at      []time.Duration // since start, of each of got; guarded by mu
}

// settle runs body beside a settler with the default debounce and 10 s of polling, in a bubble.
func settle(t *testing.T, content Document, body func(s *settling)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &settling{start: time.Now(), content: content, maybe: make(chan struct{}, 1)}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			FileSource{}.settler().run(ctx, s.maybe, func() Document {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.reads++
				return s.content
			}, func(d Document) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.got = append(s.got, d)
				s.at = append(s.at, time.Since(s.start))
			})
		}()
		synctest.Wait()
		s.end = func() {
			cancel()
			<-ended
		}
		body(s)
		s.end()
	})
}

// set changes the content without any sign.
func (s *settling) set(d Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content = d
}

// change sets the content and gives the sign that a notification gives.
func (s *settling) change(d Document) {
	s.set(d)
	s.sign()
}

func (s *settling) sign() {
	select {
	case s.maybe <- struct{}{}:
	default:
	}
}

// wait lets time pass and everything happen that is due.
func wait(d time.Duration) {
	time.Sleep(d) // virtual
	synctest.Wait()
}

func (s *settling) want(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var got []string
	for _, d := range s.got {
		if d.Err != nil {
			got = append(got, "error: "+d.Err.Error())
			continue
		}
		got = append(got, string(d.Files[0].Data))
	}
	if len(got) != len(want) {
		t.Fatalf("reported %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("reported %q, want %q", got, want)
		}
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	const quiet = time.Minute
	lost := Document{Source: "s", Err: errors.New("lost")}
	for name, body := range map[string]func(t *testing.T, s *settling){
		"the first state is reported at once": func(t *testing.T, s *settling) {
			s.want(t, "a")
		},
		"nothing changes, nothing is reported": func(t *testing.T, s *settling) {
			wait(10 * time.Minute)
			s.want(t, "a")
		},
		"a change is reported when it has stayed for the debounce": func(t *testing.T, s *settling) {
			s.change(doc("b"))
			wait(DefaultDebounce)
			s.want(t, "a")
			wait(DefaultDebounce)
			s.want(t, "a", "b")
		},
		"a change without a sign is found by polling": func(t *testing.T, s *settling) {
			s.set(doc("b"))
			wait(DefaultPoll + 2*DefaultDebounce)
			s.want(t, "a", "b")
		},
		"what is gone and back within the debounce was never gone": func(t *testing.T, s *settling) {
			for _, gap := range []time.Duration{time.Millisecond, 60 * time.Millisecond, DefaultDebounce - time.Millisecond} {
				s.change(lost)
				wait(gap)
				s.change(doc("a"))
				wait(quiet)
			}
			s.want(t, "a")
		},
		"gone for longer than the debounce is reported": func(t *testing.T, s *settling) {
			s.change(lost)
			wait(2 * DefaultDebounce)
			s.change(doc("a"))
			wait(quiet)
			s.want(t, "a", "error: lost", "a")
		},
		"halves are not reported while the writer is at work": func(t *testing.T, s *settling) {
			for i := range 24 { // less than the patience in all
				s.change(doc(strings.Repeat("- rule\n", i+1)))
				wait(DefaultDebounce / 3)
			}
			s.change(doc("whole"))
			wait(quiet)
			s.want(t, "a", "whole")
		},
		"a change during the settling of another is not lost": func(t *testing.T, s *settling) {
			s.change(doc("b"))
			wait(DefaultDebounce)
			s.change(doc("c"))
			wait(quiet)
			s.want(t, "a", "c")
		},
		"signs without a change are not reported and do not hold up what changes": func(t *testing.T, s *settling) {
			for i := range 1000 {
				if i == 500 {
					s.set(doc("b"))
				}
				s.sign()
				wait(time.Millisecond)
			}
			s.want(t, "a", "b")
		},
		"a content that never rests is reported all the same": func(t *testing.T, s *settling) {
			for i := range 600 {
				s.change(doc(time.Duration(i).String()))
				wait(10 * time.Millisecond)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			// 6 s of changes: a report at least each time that the patience of 2 s ends.
			if len(s.got) < 3 {
				t.Fatalf("%d reports in 6 s of changes, want at least 3", len(s.got))
			}
			for i := 1; i < len(s.at); i++ {
				if gap := s.at[i] - s.at[i-1]; gap > 11*DefaultDebounce {
					t.Errorf("%v between two reports", gap)
				}
			}
		},
		"an error is reported once": func(t *testing.T, s *settling) {
			s.change(lost)
			wait(quiet)
			s.change(Document{Source: "s", Err: errors.New("lost")})
			wait(quiet)
			s.want(t, "a", "error: lost")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settle(t, doc("a"), func(s *settling) { body(t, s) })
		})
	}
}

// A storm of signs costs a bounded number of readings.
func TestSettleReadsAreBounded(t *testing.T) {
	t.Parallel()
	settle(t, doc("a"), func(s *settling) {
		for range 10000 {
			s.sign()
			wait(100 * time.Microsecond)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if most := int(time.Second/(DefaultDebounce/4)) + 2; s.reads > most {
			t.Errorf("%d readings in a second of signs, want at most %d", s.reads, most)
		}
	})
}

// An end during the settling ends it without a report.
func TestSettleEnds(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, DefaultDebounce / 8, DefaultDebounce} {
		settle(t, doc("a"), func(s *settling) {
			s.change(doc("b"))
			wait(after)
			s.end()
			s.want(t, "a")
		})
	}
}

// Real directories under virtual time: what the settler is for.
func TestSettleRealDirectory(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(t *testing.T, dir string, pause func())
		want   []map[string]string // reported after the first
		err    bool                // an error is reported last
	}{
		"delete and create again": {
			change: func(t *testing.T, dir string, pause func()) {
				must(t, os.Remove(filepath.Join(dir, "a.yaml")))
				pause()
				put(t, filepath.Join(dir, "a.yaml"), "- a\n")
			},
		},
		"empty the directory and fill it again": {
			change: func(t *testing.T, dir string, pause func()) {
				must(t, os.RemoveAll(dir))
				pause()
				must(t, os.Mkdir(dir, 0o755))
				pause()
				put(t, filepath.Join(dir, "a.yaml"), "- a\n")
				put(t, filepath.Join(dir, "b.yaml"), "- b\n")
			},
		},
		"truncate and rewrite": {
			change: func(t *testing.T, dir string, pause func()) {
				put(t, filepath.Join(dir, "a.yaml"), "")
				pause()
				put(t, filepath.Join(dir, "a.yaml"), "- new\n")
			},
			want: []map[string]string{{"a.yaml": "- new\n", "b.yaml": "- b\n"}},
		},
		"half a file, then the whole": {
			change: func(t *testing.T, dir string, pause func()) {
				put(t, filepath.Join(dir, "a.yaml"), "- one\n")
				pause()
				put(t, filepath.Join(dir, "a.yaml"), "- one\n- two\n")
			},
			want: []map[string]string{{"a.yaml": "- one\n- two\n", "b.yaml": "- b\n"}},
		},
		"two files, one after the other": {
			change: func(t *testing.T, dir string, pause func()) {
				replace(t, filepath.Join(dir, "a.yaml"), "- new\n")
				pause()
				replace(t, filepath.Join(dir, "b.yaml"), "- new\n")
			},
			want: []map[string]string{{"a.yaml": "- new\n", "b.yaml": "- new\n"}},
		},
		"one of several stays deleted": {
			change: func(t *testing.T, dir string, _ func()) { must(t, os.Remove(filepath.Join(dir, "a.yaml"))) },
			want:   []map[string]string{{"b.yaml": "- b\n"}},
		},
		"all stay deleted": {
			change: func(t *testing.T, dir string, _ func()) {
				must(t, os.Remove(filepath.Join(dir, "a.yaml")))
				must(t, os.Remove(filepath.Join(dir, "b.yaml")))
			},
			err: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "rules")
			must(t, os.Mkdir(dir, 0o755))
			put(t, filepath.Join(dir, "a.yaml"), "- a\n")
			put(t, filepath.Join(dir, "b.yaml"), "- b\n")
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				maybe, ended := make(chan struct{}, 1), make(chan struct{})
				var got []Document
				go func() {
					defer close(ended)
					FileSource{}.settler().run(ctx, maybe, func() Document { return Read(dir) }, func(d Document) { got = append(got, d) })
				}()
				synctest.Wait()
				tt.change(t, dir, func() {
					maybe <- struct{}{}
					wait(DefaultDebounce / 3) // virtual: a reading falls into each pause
				})
				select {
				case maybe <- struct{}{}:
				default:
				}
				wait(time.Minute)
				cancel()
				<-ended
				reports := got[1:]
				if tt.err {
					if len(reports) != 1 || reports[0].Err == nil {
						t.Fatalf("got %+v, want one error", reports)
					}
					return
				}
				if len(reports) != len(tt.want) {
					t.Fatalf("got %+v, want %d reports", reports, len(tt.want))
				}
				for i, want := range tt.want {
					wantContents(t, reports[i], want)
				}
			})
		})
	}
}
