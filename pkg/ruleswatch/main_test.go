package ruleswatch

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if code, ok := runChild(); ok {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// quick is a debounce that makes tests with real files short. None depends on what it is.
const quick = 5 * time.Millisecond

func put(t *testing.T, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace writes a file as careful writers do: whole, under another name, then renamed.
func replace(t *testing.T, path, data string) {
	t.Helper()
	put(t, path+".tmp", data)
	must(t, os.Rename(path+".tmp", path))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func contents(d Document) map[string]string {
	m := make(map[string]string, len(d.Files))
	for _, f := range d.Files {
		m[filepath.Base(f.Name)] = string(f.Data)
	}
	return m
}

func wantContents(t *testing.T, d Document, want map[string]string) {
	t.Helper()
	if d.Err != nil || !maps.Equal(contents(d), want) {
		t.Errorf("got %v, %v, want %v", contents(d), d.Err, want)
	}
}

// observed is a running Watch of a FileSource.
type observed struct {
	t    *testing.T
	docs chan Document
	stop func() (rest []Document) // ends it and returns what was not taken by next
}

// observe watches without polling, so that only notifications can show a change.
func observe(t *testing.T, path string) *observed {
	t.Helper()
	return observeSource(t, FileSource{Path: path, Debounce: quick, Poll: 24 * time.Hour})
}

func observeSource(t *testing.T, s Source) *observed {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	o := &observed{t: t, docs: make(chan Document, 1000)}
	ended := make(chan error, 1)
	go func() { ended <- s.Watch(ctx, func(d Document) { o.docs <- d }) }()
	stopped := false
	o.stop = func() (rest []Document) {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Watch: %v", err)
		}
		close(o.docs)
		for d := range o.docs {
			rest = append(rest, d)
		}
		return rest
	}
	t.Cleanup(func() { o.stop() })
	return o
}

func (o *observed) next() Document {
	o.t.Helper()
	select {
	case d := <-o.docs:
		return d
	case <-time.After(30 * time.Second):
		o.t.Fatal("nothing was reported")
		panic("unreachable")
	}
}

// wantNext wants the very next report to be this content.
func (o *observed) wantNext(want map[string]string) {
	o.t.Helper()
	wantContents(o.t, o.next(), want)
}

// until takes reports until one is as wanted. None of them may be good and without files.
func (o *observed) until(what string, ok func(Document) bool) Document {
	o.t.Helper()
	for {
		d := o.next()
		if d.Err == nil && len(d.Files) == 0 {
			o.t.Fatalf("waiting for %s: a report without files and without an error", what)
		}
		if ok(d) {
			return d
		}
	}
}

func (o *observed) untilContents(want map[string]string) {
	o.t.Helper()
	o.until("a content", func(d Document) bool { return d.Err == nil && maps.Equal(contents(d), want) })
}

func (o *observed) untilError() error {
	o.t.Helper()
	return o.until("an error", func(d Document) bool { return d.Err != nil }).Err
}
