package attr

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		pairs []string
		want  map[string]string // absent: not there
	}{
		{"none", nil, map[string]string{}},
		{"two", []string{"arg.0", "a", "arg.1", "b"}, map[string]string{"0": "a", "1": "b", "-1": "b", "-2": "a"}},
		{"in any order", []string{"arg.1", "b", "arg.0", "a"}, map[string]string{"0": "a", "1": "b", "-1": "b", "-2": "a"}},
		{"the first of one number counts", []string{"arg.0", "a", "arg.0", "b"}, map[string]string{"0": "a", "-1": "a"}},
		{"an empty one is there", []string{"arg.0", ""}, map[string]string{"0": "", "-1": ""}},
		{"none is counted behind a gap", []string{"arg.0", "a", "arg.2", "c"}, map[string]string{"0": "a", "2": "c", "-1": "a"}},
		{"without a first one nothing is counted from the end", []string{"arg.1", "b"}, map[string]string{"1": "b"}},
		{"other spellings are none", []string{"arg.00", "a", "arg.+0", "b", "arg.-1", "c", "arg.x", "d", "arg. 0", "e", "arg.", "f"}, map[string]string{}},
		{"the last number", []string{"arg.63", "a", "arg.64", "b", "arg.100", "c"}, map[string]string{"63": "a"}},
		{"never a header", []string{"arg.0", "a", "0", "bare"}, map[string]string{"0": "a", "-1": "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b Bag
			fill(&b, c.pairs...)
			for i := -70; i <= 110; i++ {
				name := strconv.Itoa(i)
				value, found := b.Param(rule.SourceArgument, name)
				want, there := c.want[name]
				if value != want || (found == engine.Present) != there || found == engine.TooLarge {
					t.Errorf("%s: got %q, %v", name, value, found)
				}
			}
			b.Reset()
			if v, found := b.Param(rule.SourceArgument, "0"); v != "" || found != engine.Absent {
				t.Errorf("after Reset: %q, %v", v, found)
			}
		})
	}
}

// A bag answers as a list does that is cut at its first gap.
func TestArgumentsFromTheEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.SliceOfDistinct(rapid.IntRange(0, 8), rapid.ID[int]).Draw(t, "sent")
		var b Bag
		for _, i := range sent {
			b.Add(fmt.Sprintf("arg.%d", i), strconv.Itoa(i))
		}
		var list []string
		for i := 0; slices.Contains(sent, i); i++ {
			list = append(list, strconv.Itoa(i))
		}
		slices.Reverse(list)
		for i := range 10 {
			value, found := b.Param(rule.SourceArgument, strconv.Itoa(-1-i))
			if (found == engine.Present) != (i < len(list)) || found == engine.Present && value != list[i] {
				t.Fatalf("%d: got %q, %v, want of %v", -1-i, value, found, list)
			}
		}
	})
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	var b Bag
	fill(&b, "route", "orders", "path", "/a/./b?x=1", "method", "get", "tenant", "Acme", "tenant", "second", "header.tenant", "h", "X-Up", "up", "empty", "")
	for key, want := range map[string]string{"route": "orders", "path": "/a/b", "method": "GET", "tenant": "Acme", "X-Up": "up", "empty": ""} {
		if value, found := b.Param(rule.SourceAttribute, key); value != want || found != engine.Present {
			t.Errorf("%s: got %q, %v", key, value, found)
		}
	}
	for _, key := range []string{"resource", "generic_key", "x-up", "TENANT", "header.tenant", "x", "", "arg.0"} {
		if value, found := b.Param(rule.SourceAttribute, key); found != engine.Absent {
			t.Errorf("%s: got %q, %v", key, value, found)
		}
	}
	b.Reset()
	b.Add("path", "/"+string(make([]byte, maxPath)))
	if _, found := b.Param(rule.SourceAttribute, "path"); found != engine.TooLarge {
		t.Errorf("a path that is too large is %v", found)
	}
}

func TestArgumentsAllocateNothing(t *testing.T) {
	var b Bag
	if n := testing.AllocsPerRun(100, func() {
		b.Reset()
		b.Add("arg.0", "a")
		b.Add("arg.1", "b")
		b.Add("tenant", "t")
		b.Param(rule.SourceArgument, "1")
		b.Param(rule.SourceArgument, "-2")
		b.Param(rule.SourceAttribute, "tenant")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
