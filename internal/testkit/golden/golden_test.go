package golden

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/ruletest"
)

// replay runs a trace as `sidecard test` would, and returns what is wrong.
func replay(t *Trace) error {
	files, err := t.Files()
	if err != nil {
		return err
	}
	read := func(folder string) ([]rule.File, error) {
		var found []rule.File
		for name, data := range files {
			if path.Dir(name) == folder {
				found = append(found, rule.File{Name: name, Data: data})
			}
		}
		return found, nil
	}
	r := ruletest.Run(rule.File{Name: CaseFile, Data: files[CaseFile]}, ruletest.Options{Read: read})
	var wrong []string
	for _, problems := range []rule.Problems{r.Unread, r.Refused} {
		for _, p := range problems {
			wrong = append(wrong, p.String())
		}
	}
	for _, c := range r.Cases {
		for _, f := range c.Failures {
			wrong = append(wrong, fmt.Sprintf("event %d at %v, %s: expected %s; got %s (%s)", f.Event, f.At, f.What, f.Expected, f.Got, f.Note))
		}
	}
	if !r.OK() {
		return fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// Every trace is reproduced, or answered as is said of it, or stands in the table with a reason.
func TestTraces(t *testing.T) {
	t.Parallel()
	all, err := Traces()
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	seen := make(map[string]bool)
	table := new(strings.Builder)
	for i := range all {
		trace := &all[i]
		if seen[trace.ID] {
			t.Errorf("%s is there twice", trace.ID)
		}
		seen[trace.ID] = true
		what, note := judge(t, trace)
		counts[what]++
		fmt.Fprintf(table, "%-8s %-8s %s\n", trace.ID, what, note)
	}
	for id := range waiting {
		if !seen[id] {
			t.Errorf("%s waits, but there is no such trace", id)
		}
	}
	t.Logf("\n%s%d traces: %d same, %d differs, %d info, %d waiting",
		table, len(all), counts["same"], counts["differs"], counts["info"], counts["waiting"])
}

// judge says what has become of a trace.
func judge(t *testing.T, trace *Trace) (what, note string) {
	switch trace.Answer {
	case Same:
	case Differs, Info:
		if trace.Why == "" {
			t.Errorf("%s: no reason for %s", trace.ID, trace.Answer)
		}
	default:
		t.Errorf("%s: unknown answer %q", trace.ID, trace.Answer)
	}
	if trace.Answer == Info {
		return string(Info), trace.Note()
	}
	err := replay(trace)
	if reason := trace.Waits(); reason != "" {
		if err == nil {
			t.Errorf("%s holds, but is said to wait: %s", trace.ID, reason)
		}
		return "waiting", reason
	}
	if err != nil {
		t.Errorf("%s (%s): %v", trace.ID, trace.Answer, err)
		return "FAILS", ""
	}
	return string(trace.Answer), trace.Note()
}
