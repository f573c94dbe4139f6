package rule

import (
	"os"
	"strings"
	"testing"
)

// The page about breakers names all fields, and its example is the one of the repository, which loads
// without a warning.
func TestBreakersPage(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page, example := read("../../docs/breakers.md"), read("../../examples/breakers/degrade-rules.json")
	_, table, _ := strings.Cut(page, "\n## Fields\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, name := range append(degradeSchema.names(), slidingSchema.names()...) {
		if name != "limitApp" && name != "regex" && !strings.Contains(table, "`"+name+"`") && !strings.Contains(table, `"`+name+`"`) {
			t.Errorf("the field %s is not there", name)
		}
	}
	for _, e := range []*enumeration{degradeGrades, openAtChoices} {
		for _, m := range e.members {
			if !strings.Contains(table, "`"+m.name+"`") {
				t.Errorf("the value %s is not there", m.name)
			}
		}
	}
	if !strings.Contains(page, "```json\n"+example+"```\n") {
		t.Error("the example is not that of examples/breakers")
	}
	set, problems := Load([]File{{Name: "degrade-rules.json", Data: []byte(example)}}, Options{})
	if len(problems) > 0 || len(set.Degrade) != 3 {
		t.Errorf("%d rules, %v", len(set.Degrade), problems)
	}
}
