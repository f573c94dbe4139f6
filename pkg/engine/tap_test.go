package engine

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/sidecard/sidecard/pkg/rule"
)

func tappedRule(t testing.TB) *CompiledRule {
	t.Helper()
	set, problems := rule.Load([]rule.File{{Name: "gw-flow-rules.json", Data: []byte(
		`[{"resource": "orders", "count": 5, "paramItem": {"parseStrategy": "client_ip", "pattern": "10.", "matchStrategy": "prefix"}}, {"resource": "orders", "count": 5}]`)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	e := New(Options{})
	if _, err := e.Apply(1, set); err != nil {
		t.Fatal(err)
	}
	for _, r := range e.Rules() {
		if r.Rule.param == nil {
			if _, _, ok := r.Rule.SampleValues(nil); ok {
				t.Fatal("a rule without a parameter has values")
			}
			r.Rule.StopSampling()
		}
	}
	return e.Rules()[0].Rule
}

func TestSamplesAreTheValues(t *testing.T) {
	t.Parallel()
	r := tappedRule(t)
	offer := func(values ...string) {
		for _, v := range values {
			r.tap.offer(v)
		}
	}
	offer("before")
	if got, how, ok := r.SampleValues(nil); len(got) != 0 || !ok || how != (Sampling{OneIn: 1}) {
		t.Fatalf("the first reading: %v, %+v, %v", got, how, ok)
	}
	long := strings.Repeat("x", MaxSampleBytes)
	offer("a", "a", "", long+"1", long+"2")
	got, _, _ := r.SampleValues(nil)
	if len(got) != 5 {
		t.Fatalf("got %+v", got)
	}
	byText := map[string]int{}
	hashes := map[uint64]bool{}
	for _, s := range got {
		byText[fmt.Sprint(s.Text, s.Length)] += int(s.Weight)
		hashes[s.Hash] = true
	}
	if byText["a1"] != 2 || byText["0"] != 1 || byText[long+"65"] != 2 || len(hashes) != 4 {
		t.Errorf("got %v, %d hashes", byText, len(hashes))
	}
	r.StopSampling()
	offer("after")
	if got, _, _ := r.SampleValues(nil); len(got) != 0 {
		t.Errorf("after the end: %v", got)
	}
}

// Only what a rule limits, and what asks to be charged, is a value of it.
func TestOnlyChargesAreSampled(t *testing.T) {
	t.Parallel()
	set, problems := rule.Load([]rule.File{{Name: "gw-flow-rules.json", Data: []byte(
		`[{"resource": "orders", "count": 5, "paramItem": {"parseStrategy": "client_ip", "pattern": "10.", "matchStrategy": "prefix"}}]`)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	e := New(Options{})
	if _, err := e.Apply(1, set); err != nil {
		t.Fatal(err)
	}
	r := e.Rules()[0].Rule
	r.SampleValues(nil)
	for _, q := range []Request{
		{Resource: "orders", ClientIP: "10.0.0.1"}, {Resource: "orders", ClientIP: "10.0.0.2", Kind: Peek}, {Resource: "orders", ClientIP: "10.0.0.3", Kind: Refund},
		{Resource: "orders", ClientIP: "192.168.0.1"}, {Resource: "orders"}, {Resource: "other", ClientIP: "10.0.0.4"},
	} {
		c := Call{Items: []Request{q}}
		e.Decide(1, &c)
		if c.Overall == Pass {
			e.Redecide(1, &c)
		}
	}
	e.Explain(1, "", Request{Resource: "orders", ClientIP: "10.0.0.5"}, 0)
	if got, _, _ := r.SampleValues(nil); len(got) != 1 || got[0].Text != "10.0.0.1" {
		t.Errorf("got %+v", got)
	}
}

// As more come than find room, fewer are looked at, and the weights still tell how many there were; as fewer come, more
// are looked at again.
func TestSamplingThinsOut(t *testing.T) {
	t.Parallel()
	r := tappedRule(t)
	r.SampleValues(nil)
	const rounds, each = 40, 20_000
	observed, lost, frequent := int64(0), int64(0), int64(0)
	for range rounds {
		for i := range each {
			if i%4 == 0 {
				r.tap.offer("frequent")
			} else {
				r.tap.offer(fmt.Sprint(i))
			}
		}
		got, how, _ := r.SampleValues(nil)
		lost += how.Dropped
		for _, s := range got {
			observed += s.Weight
			if s.Text == "frequent" {
				frequent += s.Weight
			}
		}
	}
	_, how, _ := r.SampleValues(nil)
	if how.OneIn < each/tapSlots || how.OneIn > 4*each/tapSlots {
		t.Errorf("one of %d is taken in the end", how.OneIn)
	}
	if off := math.Abs(float64(observed)/(rounds*each) - 1); off > 0.1 {
		t.Errorf("%d were observed of %d, %d lost", observed, rounds*each, lost)
	}
	if share := float64(frequent) / float64(observed); share < 0.2 || share > 0.3 {
		t.Errorf("the frequent value has a share of %.2f", share)
	}
	for range 40 {
		r.SampleValues(nil)
	}
	if _, how, _ := r.SampleValues(nil); how.OneIn != 1 {
		t.Errorf("one of %d is taken when none come", how.OneIn)
	}
}

// A value is whole or not there, whoever writes and reads at the same time.
func TestSamplesAreWhole(t *testing.T) {
	t.Parallel()
	r := tappedRule(t)
	r.SampleValues(nil)
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for w := range 3 {
		writers.Go(func() {
			value := strings.Repeat(fmt.Sprint(w), 40+w)
			for {
				select {
				case <-stop:
					return
				default:
					r.tap.offer(value)
				}
			}
		})
	}
	hashes := map[string]uint64{}
	for read := 0; read < 20_000; {
		got, _, _ := r.SampleValues(nil)
		read += max(len(got), 1)
		for _, s := range got {
			if s.Length != len(s.Text) || s.Text != strings.Repeat(s.Text[:1], 40+int(s.Text[0]-'0')) {
				t.Fatalf("got %+v", s)
			}
			if h, known := hashes[s.Text]; known && h != s.Hash {
				t.Fatalf("%q has two hashes", s.Text)
			}
			hashes[s.Text] = s.Hash
		}
	}
	close(stop)
	writers.Wait()
}

func TestSamplingAllocatesNothing(t *testing.T) {
	r := tappedRule(t)
	for range 2 { // closed, then open
		if n := testing.AllocsPerRun(1000, func() { r.tap.offer("10.0.0.1") }); n != 0 {
			t.Errorf("%v allocations", n)
		}
		r.SampleValues(nil)
	}
}
