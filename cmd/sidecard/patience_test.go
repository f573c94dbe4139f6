package main

import (
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/calls"
)

// Of Envoy's timeout the answer itself takes a part. A timeout that leaves nothing for waiting is not one that
// nobody knows.
func TestWaitThatEnvoyLeaves(t *testing.T) {
	t.Parallel()
	for patience, want := range map[time.Duration]time.Duration{
		0: 0, time.Second: time.Second - calls.AnswerTime, calls.AnswerTime + 1: 1, calls.AnswerTime: 1, time.Millisecond: 1,
	} {
		c := defaults()
		c.Patience = patience
		if got := c.ruleOptions().MaxWait; got != want {
			t.Errorf("%v: %v, want %v", patience, got, want)
		}
	}
}
