package ruletest

import (
	"os"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/pkg/rule"
)

// The page for users names every field.
func TestThePageIsComplete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/testing-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, name := range append(append(names(fileFields), names(caseFields)...), names(eventFields)...) {
		if !strings.Contains(page, "`"+name) && !strings.Contains(page, name+": ") {
			t.Errorf("the field %s is not there", name)
		}
	}
}

// The example of the page is a case file.
func TestTheExampleOfThePage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/testing-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("there is no example")
	}
	r := Run(rule.File{Name: "../../examples/tests/page.yaml", Data: []byte(example)}, Options{Read: func(path string) ([]rule.File, error) {
		path += "/gw-flow-rules.json"
		data, err := os.ReadFile(path)
		return []rule.File{{Name: path, Data: data}}, err
	}})
	if !r.OK() || len(r.Cases) != 1 {
		t.Error(lines(r))
	}
}
