package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
	"github.com/sidecard/sidecard/pkg/rule"
)

// passing makes replies that passed, the given number of milliseconds after the start.
func passing(at ...int64) []envoytest.Reply {
	var replies []envoytest.Reply
	for _, ms := range at {
		replies = append(replies, envoytest.Reply{Sent: time.UnixMilli(ms), Done: time.UnixMilli(ms + 1), Status: 200})
	}
	return replies
}

func refused(by string) envoytest.Reply {
	return envoytest.Reply{Sent: time.UnixMilli(0), Done: time.UnixMilli(1), Status: 429, Rule: by}
}

// The demo's exit status is worth what it notices.
func TestJudgeFindsFaults(t *testing.T) {
	t.Parallel()
	strict := rule.LimitRule{ID: "r", Limit: 2, Interval: time.Second, Window: rule.WindowStrict}
	aligned := strict
	aligned.Window = rule.WindowAligned
	closed := strict
	closed.Limit = 0
	burst, queue := aligned, rule.LimitRule{ID: "r", Limit: 2, Interval: time.Second, Behavior: rule.BehaviorQueue, Window: rule.WindowNone}
	burst.Burst = 3
	late := func(replies []envoytest.Reply) []envoytest.Reply {
		replies[0].Done = replies[0].Sent.Add(time.Second)
		return replies
	}
	for _, c := range []struct {
		name    string
		rule    rule.LimitRule
		replies [][]envoytest.Reply
		fault   string
	}{
		{"strict, kept", strict, [][]envoytest.Reply{append(passing(0, 500, 1600), refused("r"))}, ""},
		{"strict, broken", strict, [][]envoytest.Reply{append(passing(0, 500, 900), refused("r"))}, "3 passed, the bound is 2"},
		{"strict, broken for the second value", strict, [][]envoytest.Reply{append(passing(0), refused("r")), passing(0, 1, 2)}, "3 passed"},
		{"aligned, kept", aligned, [][]envoytest.Reply{append(passing(0, 1, 2, 3), refused("r"))}, ""},
		{"aligned, broken", aligned, [][]envoytest.Reply{append(passing(0, 1, 2, 3, 4), refused("r"))}, "5 passed, the bound is 4"},
		{"a limit of 0, broken", closed, [][]envoytest.Reply{append(passing(0), refused("r"))}, "1 passed, the bound is 0"},
		{"burst, kept", burst, [][]envoytest.Reply{append(passing(0, 1, 2, 3, 999), refused("r"))}, ""},
		{"burst, kept by what comes back", burst, [][]envoytest.Reply{append(passing(0, 1, 2, 3, 4, 5, 999), refused("r"))}, ""},
		{"burst, broken", burst, [][]envoytest.Reply{append(passing(0, 1, 2, 3, 4, 5, 6, 999), refused("r"))}, "8 passed, the bound is 7"},
		{"queueing, kept", queue, [][]envoytest.Reply{append(late(passing(0, 1, 999)), refused("r"))}, ""},
		{"queueing, broken", queue, [][]envoytest.Reply{append(late(passing(0, 1, 2, 999)), refused("r"))}, "4 passed, the bound is 3"},
		{"queueing that holds nothing back", queue, [][]envoytest.Reply{append(passing(0, 500, 1000), refused("r"))}, "nothing waited"},
		{"nothing passed", strict, [][]envoytest.Reply{{refused("r")}}, "nothing passed"},
		{"another rule did all the work", strict, [][]envoytest.Reply{append(passing(0), refused("other"))}, "it refused nothing"},
		{"neither 200 nor 429", strict, [][]envoytest.Reply{append(passing(0), refused("r"), envoytest.Reply{Status: 503})}, "1 requests got neither"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := judge(c.rule, []string{"x"}, c.replies).fault
			if (got == "") != (c.fault == "") || !strings.HasPrefix(got, c.fault) {
				t.Errorf("got fault %q, want %q", got, c.fault)
			}
		})
	}
}

func TestWithCountChangesOneRule(t *testing.T) {
	t.Parallel()
	files, err := ruleFiles("../../" + examples)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := withCount(files, swapRule, swapCount)
	if err != nil {
		t.Fatal(err)
	}
	before, err := parse(files)
	if err != nil {
		t.Fatal(err)
	}
	after, err := parse(changed)
	if err != nil {
		t.Fatal(err)
	}
	for id, r := range before {
		want := r.Limit
		if id == swapRule {
			want = swapCount
		}
		if after[id].Limit != want {
			t.Errorf("%s: got %d, want %d", id, after[id].Limit, want)
		}
	}
	if before[swapRule].Limit == swapCount {
		t.Error("the swap changes nothing")
	}
	if _, err := withCount(files, "no such rule", 1); err == nil {
		t.Error("changed a rule that is not there")
	}
}
