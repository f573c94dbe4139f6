package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/pkg/rule"
)

// The committed document, and nothing else of its name, is what the program writes.
func TestCommittedDocument(t *testing.T) {
	t.Parallel()
	got := t.TempDir()
	if err := run(got); err != nil {
		t.Fatal(err)
	}
	const want = "../../docs"
	names := files(t, got)
	if committed := files(t, want); !equal(names, committed) {
		t.Errorf("the program writes %q; committed are %q", names, committed)
	}
	for _, name := range names {
		a, err := os.ReadFile(filepath.Join(got, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(want, name))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("docs/%s is not what the program writes (%v): run make semantics, and read what has changed", name, err)
		}
		if strings.HasSuffix(name, ".svg") {
			wellFormed(t, name, a)
			continue
		}
		for _, leftOver := range []string{"%!", "~"} {
			if strings.Contains(string(a), leftOver) {
				t.Errorf("the document holds %s, which is no text", leftOver)
			}
		}
	}
}

// files are the document and its images in a folder.
func files(t *testing.T, docs string) []string {
	t.Helper()
	names := []string{documentName}
	images, err := filepath.Glob(filepath.Join(docs, imageFolder, imagePrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range images {
		names = append(names, filepath.Join(imageFolder, filepath.Base(path)))
	}
	return names
}

func equal(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

// wellFormed reads an image to its end.
func wellFormed(t *testing.T, name string, data []byte) {
	t.Helper()
	for dec := xml.NewDecoder(bytes.NewReader(data)); ; {
		switch _, err := dec.Token(); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.Errorf("%s: %v", name, err)
			return
		}
	}
}

// The rules of the page load as one file.
func TestRulesOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("../../docs", documentName))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(page), "The rules of this page:\n\n```json\n")
	block, _, ends := strings.Cut(block, "```\n")
	if !found || !ends {
		t.Fatal("the page has no rules")
	}
	set, problems := rule.Load([]rule.File{{Name: "gw-flow-rules.json", Data: []byte(block)}}, rule.Options{})
	if len(problems) > 0 || len(set.Limits) != 7 {
		t.Errorf("%d rules, %v", len(set.Limits), problems)
	}
}

func TestWriteRemovesPlotsThatAreGone(t *testing.T) {
	t.Parallel()
	docs := t.TempDir()
	d := &document{images: []image{{imagePrefix + "old.svg", nil}}}
	if err := d.write(docs); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(docs, imageFolder, "other.svg")
	if err := os.WriteFile(foreign, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	d = &document{images: []image{{imagePrefix + "new.svg", nil}}}
	if err := d.write(docs); err != nil {
		t.Fatal(err)
	}
	want := []string{documentName, filepath.Join(imageFolder, imagePrefix+"new.svg")}
	if got := files(t, docs); !equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a file of another name is gone: %v", err)
	}
}

func TestChartRefusesWhatItCannotShow(t *testing.T) {
	t.Parallel()
	c := chart{
		x: axis{to: 10, every: 5, unit: 1}, height: 1000,
		panels: []panel{{y: axis{to: 10, every: 5, unit: 1}, series: []series{{points: []point{{0, 0}, {10, 10}}}}}},
	}
	if _, err := c.svg(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []point{{11, 0}, {-1, 0}, {0, 11}, {0, -1}} {
		c.panels[0].series[0].points = []point{p}
		if _, err := c.svg(); err == nil {
			t.Errorf("the point %v is shown", p)
		}
	}
	c.panels[0].series = make([]series, colours+1)
	if _, err := c.svg(); err == nil {
		t.Errorf("%d lines are shown in %d colours", colours+1, colours)
	}
}
