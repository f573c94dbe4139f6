package inprocess

import (
	"runtime"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/bench/ruleset"
)

// TestMeasure takes everything once, on little data.
func TestMeasure(t *testing.T) {
	o := Options{Rounds: 2, Calls: 1000, Keys: 100, Table: 2000, Rules: 20, Reloads: 3}
	f, err := Measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]float64{
		"decide": f.Decide, "among": f.DecideAmong, "cas": f.CAS, "admit": f.Admit, "refuse": f.Refuse,
		"keys": f.KeyAdmit, "reload": f.Reload, "quiet": f.Quiet.P999, "reloading": f.Reloading.P999,
	} {
		if len(got) != o.Rounds {
			t.Errorf("%s: %d figures of %d rounds", name, len(got), o.Rounds)
		}
		for _, v := range got {
			if v <= 0 {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
	if f.Quiet.Max <= 0 || f.Reloading.Max <= 0 {
		t.Errorf("the longest decisions took %v and %v", f.Quiet.Max, f.Reloading.Max)
	}
	if f.DecideAllocs != 0 {
		t.Errorf("%v allocations a decision", f.DecideAllocs)
	}
	// A word of key and a word of state, and room for no more than as much again.
	if f.KeyBytes < 16 || f.KeyBytes > 32 {
		t.Errorf("%v bytes a key", f.KeyBytes)
	}
}

// TestDecisionsAreChecked has the route closed, so that the figures would be those of refusals.
func TestDecisionsAreChecked(t *testing.T) {
	t.Parallel()
	d, err := newDecider(10, ruleset.Options{Closed: true})
	if err != nil {
		t.Fatal(err)
	}
	d.decide(0)
	if d.passed != 0 {
		t.Error("a refusal counts as passed")
	}
}

// TestReloadIsChecked reloads rules of which some were not there.
func TestReloadIsChecked(t *testing.T) {
	t.Parallel()
	d, err := newDecider(10, ruleset.Options{Others: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.reload(ruleset.Files(ruleset.Options{Others: 3})); err != nil {
		t.Error(err)
	}
	if err := d.reload(ruleset.Files(ruleset.Options{Others: 4})); err == nil || !strings.Contains(err.Error(), "state") {
		t.Errorf("%v, want an error: a rule was added", err)
	}
}

// TestThreadTime holds it against work that takes some.
func TestThreadTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := threadTime()
	if err != nil {
		t.Fatal(err)
	}
	for after := before; after == before; {
		if after, err = threadTime(); err != nil || after < before {
			t.Fatalf("%v after %v, %v", after, before, err)
		}
	}
}
