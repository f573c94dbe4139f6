// Package sourcetest is what every rule source must do, as a test. A new source is done when Run passes.
package sourcetest

import (
	"context"
	"maps"
	"path"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sidecard/sidecard/pkg/ruleswatch"
)

// patience bounds each wait for a source. Whatever passes does so long before.
const patience = 30 * time.Second

// Subject is one new source with the means to change what it reads. Each change has happened when the
// function returns.
type Subject struct {
	Source ruleswatch.Source
	// Put makes these files the whole content of the source, by name without any folder. A source of a
	// single file is given the file First and no other.
	Put func(t *testing.T, files map[string]string)
	// Spoil makes the content one that must not be taken for "no rules", an empty file for example.
	Spoil func(t *testing.T)
	// Lose makes the place that the source reads go away. Put brings it back.
	Lose func(t *testing.T)
	// Single says that the source holds exactly one file.
	Single bool
}

// First is the name of the file that every content of the test has.
const First = "first.yaml"

// Run tests the contract of ruleswatch.Source. newSubject is called for each part of it; the place that
// its source reads need not exist yet. Not for parallel tests: goroutines left behind are looked for.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) {
	one := map[string]string{First: "- resource: one\n"}
	two := map[string]string{First: "- resource: two\n"}
	more := map[string]string{First: "- resource: two\n", "second.yaml": "- resource: more\n"}

	for name, part := range map[string]func(t *testing.T, s Subject){
		"the first state comes at once": func(t *testing.T, s Subject) {
			s.Put(t, one)
			w := watch(t, s)
			w.wantNext(one)
		},
		"a change is reported, and the way back": func(t *testing.T, s Subject) {
			s.Put(t, one)
			w := watch(t, s)
			w.wantNext(one)
			s.Put(t, two)
			w.want(two)
			s.Put(t, one)
			w.want(one)
		},
		"files come and go": func(t *testing.T, s Subject) {
			if s.Single {
				t.Skip("the source holds exactly one file")
			}
			s.Put(t, more)
			w := watch(t, s)
			w.wantNext(more)
			s.Put(t, two)
			w.want(two)
			s.Put(t, more)
			w.want(more)
		},
		"the same content is not reported again": func(t *testing.T, s Subject) {
			s.Put(t, one)
			w := watch(t, s)
			w.wantNext(one)
			s.Put(t, one)
			s.Put(t, two)
			w.wantNext(two)
		},
		"bad content is an error until it is good again": func(t *testing.T, s Subject) {
			s.Put(t, one)
			w := watch(t, s)
			w.wantNext(one)
			s.Spoil(t)
			w.wantError()
			s.Put(t, two)
			w.want(two)
			s.Spoil(t)
			w.wantError()
			s.Put(t, two)
			w.want(two)
		},
		"loss is an error until it is over": func(t *testing.T, s Subject) {
			s.Put(t, one)
			w := watch(t, s)
			w.wantNext(one)
			for range 2 {
				s.Lose(t)
				w.wantError()
				s.Put(t, one)
				w.want(one)
			}
		},
		"what is missing from the start may come": func(t *testing.T, s Subject) {
			w := watch(t, s)
			if d := w.next(); d.Err == nil {
				t.Fatalf("got %+v, want an error", d)
			}
			s.Put(t, one)
			w.want(one)
		},
		"nothing is reported after the end": func(t *testing.T, s Subject) {
			s.Put(t, one)
			w := watch(t, s)
			w.wantNext(one)
			w.stop()
			s.Put(t, two)
			select {
			case d := <-w.docs:
				t.Errorf("got %+v after Watch had returned", d)
			default:
			}
		},
		"an ended context is obeyed": func(t *testing.T, s Subject) {
			s.Put(t, one)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := s.Source.Watch(ctx, func(ruleswatch.Document) {}); err != nil {
				t.Errorf("got %v, want nil", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			// The cleanup of watch, which ends the source, runs before this one.
			t.Cleanup(func() { goleak.VerifyNone(t, before) })
			part(t, newSubject(t))
		})
	}
}

// watching is a running Watch.
type watching struct {
	t    *testing.T
	docs chan ruleswatch.Document
	stop func()
}

func watch(t *testing.T, s Subject) *watching {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{t: t, docs: make(chan ruleswatch.Document)}
	ended := make(chan error, 1)
	go func() {
		ended <- s.Source.Watch(ctx, func(d ruleswatch.Document) {
			select {
			case w.docs <- d:
			case <-ctx.Done():
			}
		})
	}()
	stopped := false
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Watch returned %v, want nil", err)
			}
		case <-time.After(patience):
			t.Errorf("Watch did not return after its context had ended")
		}
	}
	t.Cleanup(w.stop)
	return w
}

// next returns the next state and checks what holds for all.
func (w *watching) next() ruleswatch.Document {
	w.t.Helper()
	select {
	case d := <-w.docs:
		if d.Source == "" {
			w.t.Errorf("a state does not name its source: %+v", d)
		}
		if d.Err == nil && len(d.Files) == 0 {
			w.t.Errorf("a state without files and without an error: it would lift every limit")
		}
		return d
	case <-time.After(patience):
		w.t.Fatal("the source reports nothing")
		panic("unreachable")
	}
}

// wantNext wants the next state to be exactly this content.
func (w *watching) wantNext(files map[string]string) {
	w.t.Helper()
	if d := w.next(); d.Err != nil || !maps.Equal(contents(d), files) {
		w.t.Fatalf("got %v, %v, want %v", contents(d), d.Err, files)
	}
}

// want wants this content, be it after states in between.
func (w *watching) want(files map[string]string) {
	w.t.Helper()
	for {
		if d := w.next(); d.Err == nil && maps.Equal(contents(d), files) {
			return
		}
	}
}

// wantError wants a state with an error, be it after states in between.
func (w *watching) wantError() {
	w.t.Helper()
	for w.next().Err == nil {
	}
}

func contents(d ruleswatch.Document) map[string]string {
	m := make(map[string]string, len(d.Files))
	for _, f := range d.Files {
		m[path.Base(f.Name)] = string(f.Data)
	}
	return m
}
