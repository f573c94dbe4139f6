package main

import (
	"testing"

	"github.com/rs/zerolog"
)

func TestErrorsOfTheStatusServerAreLogLines(t *testing.T) {
	t.Parallel()
	lines := newLogLines()
	log := newServerLog(zerolog.New(lines), "status server")
	for range 1000 {
		log.Print("http: Accept error: \"no\"\nmore")
	}
	got := lines.all()
	if len(got) < 10 || len(got) > 100 { // ten for each minute that this took
		t.Fatalf("got %d lines", len(got))
	}
	if want := `{"level":"warn","error":"http: Accept error: \"no\"\nmore","message":"status server"}` + "\n"; got[0] != want {
		t.Errorf("got %q, want %q", got[0], want)
	}
}
