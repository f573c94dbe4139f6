package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

func newLoader(log *logLines, maxKeys int) *ruleLoader {
	return &ruleLoader{
		engine:  engine.New(engine.Options{}),
		log:     zerolog.New(log),
		maxKeys: maxKeys,
		now:     func() int64 { return 1_700_000_000e9 },
	}
}

func flowRules(content string) []rule.File {
	return []rule.File{{Name: "gw-flow-rules.json", Data: []byte(content)}}
}

func count(lines []string, part string) int {
	n := 0
	for _, l := range lines {
		n += strings.Count(l, part)
	}
	return n
}

// A warning that lasts over many reloads is said once, one that comes back is said again.
func TestWarningsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	log := newLogLines()
	l := newLoader(log, 10)
	const (
		gone = `[{"resource": "api-gone", "resourceMode": 1, "count": %d}]`
		fine = `[{"resource": "orders", "count": 1}]`
	)
	for i, step := range []struct {
		content string
		want    int
	}{
		{fmt.Sprintf(gone, 1), 1}, {fmt.Sprintf(gone, 2), 1}, {fine, 1}, {fmt.Sprintf(gone, 3), 2},
	} {
		if err := l.apply(flowRules(step.content)); err != nil {
			t.Fatal(err)
		}
		if got := count(log.all(), "rule warning"); got != step.want {
			t.Errorf("after step %d: %d warnings, want %d in\n%s", i, got, step.want, log.all())
		}
	}
}

func TestALogLineNamesTheRulesThatChanged(t *testing.T) {
	t.Parallel()
	log := newLogLines()
	l := newLoader(log, 10)
	for _, content := range []string{
		`[{"id": "a", "resource": "r", "count": 1}, {"id": "b", "resource": "r", "count": 1}]`,
		`[{"id": "b", "resource": "r", "count": 1, "intervalSec": 2}, {"id": "c", "resource": "r", "count": 1}]`,
	} {
		if err := l.apply(flowRules(content)); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"level":"info","rules":2,"apis":0,"added":["c"],"removed":["a"],"fresh":["b"],"message":"rule changes"}` + "\n"
	if got := log.all(); len(got) != 2 || got[1] != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRulesThatLeaveWithTheirFileAreAWarning(t *testing.T) {
	t.Parallel()
	const (
		a    = `[{"id": "a", "resource": "r", "count": 1}]`
		b    = `[{"id": "b", "resource": "r", "count": 1}]`
		both = `[{"id": "a", "resource": "r", "count": 1}, {"id": "b", "resource": "r", "count": 1}]`
		slow = `[{"id": "s", "resource": "r", "grade": 2, "count": 5, "timeWindow": 10}]`
	)
	for name, tc := range map[string]struct {
		before, after map[string]string
		want          string // of the line; empty: there is none
	}{
		"gone":                    {map[string]string{"x-gw-flow-rules.json": a, "y-gw-flow-rules.json": b}, map[string]string{"y-gw-flow-rules.json": b}, `"file":"x-gw-flow-rules.json","removed":["a"],`},
		"a breaker gone":          {map[string]string{"degrade-rules.json": slow, "gw-flow-rules.json": a}, map[string]string{"gw-flow-rules.json": a}, `"file":"degrade-rules.json","removed":["s"],`},
		"renamed":                 {map[string]string{"x-gw-flow-rules.json": a}, map[string]string{"y-gw-flow-rules.json": a}, ""},
		"one of two moved":        {map[string]string{"x-gw-flow-rules.json": both}, map[string]string{"y-gw-flow-rules.json": b}, `"file":"x-gw-flow-rules.json","removed":["a"],`},
		"a rule taken out":        {map[string]string{"x-gw-flow-rules.json": both}, map[string]string{"x-gw-flow-rules.json": b}, ""},
		"a file without any gone": {map[string]string{"x-gw-flow-rules.json": "[]", "y-gw-flow-rules.json": both}, map[string]string{"y-gw-flow-rules.json": b}, ""},
	} {
		log := newLogLines()
		l := newLoader(log, 10)
		for _, contents := range []map[string]string{tc.before, tc.after} {
			var files []rule.File
			for name, text := range contents {
				files = append(files, rule.File{Name: name, Data: []byte(text)})
			}
			if err := l.apply(files); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		line := `{"level":"warn",` + tc.want + `"message":"a rule file has gone, its rules are in force no longer"}`
		lines := strings.Join(log.all(), "")
		if tc.want == "" && strings.Contains(lines, "has gone") || tc.want != "" && !strings.Contains(lines, line) {
			t.Errorf("%s: got\n%s\nwant %q", name, lines, tc.want)
		}
	}
}

func TestLogLinesStayShort(t *testing.T) {
	t.Parallel()
	log := newLogLines()
	l := newLoader(log, 10)
	var rules []string
	for i := range 3 * logged {
		rules = append(rules, fmt.Sprintf(`{"id": "id-%d", "resource": "gone-%d", "resourceMode": 1, "count": 1}`, i, i))
	}
	if err := l.apply(flowRules("[" + strings.Join(rules, ",") + "]")); err != nil {
		t.Fatal(err)
	}
	lines := log.all()
	if got := count(lines, `"message":"rule warning"`); got != logged {
		t.Errorf("%d warnings are logged, want %d", got, logged)
	}
	if !strings.Contains(strings.Join(lines, ""), fmt.Sprintf(`"more":%d`, 2*logged)) {
		t.Errorf("nothing says how many more there are:\n%s", lines)
	}
	last := lines[len(lines)-1]
	if strings.Count(last, `"id-`) != logged || !strings.Contains(last, fmt.Sprintf(`"addedTotal":%d`, 3*logged)) {
		t.Errorf("the changes are logged as %s", last)
	}
}

func TestABadSetLeavesTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	l := newLoader(newLogLines(), 10)
	if err := l.apply(flowRules(`[{"id": "a", "resource": "r", "count": 1}]`)); err != nil {
		t.Fatal(err)
	}
	revision := l.engine.Revision()
	if err := l.apply(flowRules(`[{"id": "b", "resource": "r"}]`)); err == nil || !strings.Contains(err.Error(), "gw-flow-rules.json:1:2: error: [0].count: ") {
		t.Errorf("got %v", err)
	}
	if got := l.engine.Rules(); len(got) != 1 || got[0].Rule.ID != "a" || l.engine.Revision() != revision {
		t.Errorf("in force are %v of revision %s", got, l.engine.Revision())
	}
}

func TestMaxKeysOfRulesAreCut(t *testing.T) {
	t.Parallel()
	const content = `[{"resource": "r", "count": 1, "maxKeys": %d, "paramItem": {"parseStrategy": 0}}]`
	bytes := func(asked, most int) int64 {
		l := newLoader(newLogLines(), most)
		if err := l.apply(flowRules(fmt.Sprintf(content, asked))); err != nil {
			t.Fatal(err)
		}
		return l.engine.Rules()[0].Keys.MaxBytes
	}
	if got, want := bytes(1<<20, 5000), bytes(5000, 1<<26); got != want {
		t.Errorf("a table of 1 048 576 keys, cut to 5 000, takes %d bytes, want %d", got, want)
	}
}

// A daemon takes no rule that looks at what it does not measure.
func TestSystemRulesNeedWhatIsMeasured(t *testing.T) {
	t.Parallel()
	files := []rule.File{{Name: "system-rules.json", Data: []byte(`[{"highestCpuUsage": 0.8}]`)}}
	for cgroup, want := range map[string]string{"": "needs the use of the processors", "/c": ""} {
		l := newLoader(newLogLines(), 10)
		l.options.System = systemStatConfig{Cgroup: cgroup}.inputs()
		if err := l.apply(files); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("cgroup %q: %v", cgroup, err)
		}
	}
}
