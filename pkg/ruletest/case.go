package ruletest

import (
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// caseFile is a case file as it is written.
type caseFile struct {
	rules []string // paths as written
	cases []testCase
}

// testCase is one story, told to an engine of its own.
type testCase struct {
	name   string
	at     rule.Position
	events []event
}

// action is what an event does.
type action uint8

const (
	actDecide action = iota
	actComplete
	actReload
	actBreaker
	actSystem
)

// event is one thing that happens at one time.
type event struct {
	pos    rule.Position
	at     time.Duration
	action action
	expect Answer // of the whole call; of a single request its own is in items

	// Of actDecide.
	domain   string
	items    []item
	together bool // written as call
	times    int
	deadline time.Duration // noDeadline: none
	hold     string

	// Of actComplete.
	complete string
	outcome  engine.Outcome

	reload  string // of actReload: a path as written
	breaker string // of actBreaker: the id of a rule
	system  engine.SystemSample
}

const noDeadline = time.Duration(-1)

// item is one request of a call.
type item struct {
	pos    rule.Position
	attrs  []attribute
	hits   int64
	kind   engine.Kind
	expect Answer
}

// attribute is one that a descriptor would carry.
type attribute struct{ key, value string }
