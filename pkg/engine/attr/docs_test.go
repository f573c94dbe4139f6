package attr

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page about answers lists keys that are known, and all of those that Add has a case for.
func TestKeysOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/answers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| key | what it gives |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	listed := make(map[string]bool)
	for _, row := range strings.Split(table, "\n") {
		keys, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		for _, key := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(keys, -1) {
			if err := Known(strings.Replace(key[1], "arg.N", "arg.7", 1)); err != nil {
				t.Error(err)
			}
			listed[key[1]] = true
		}
	}
	source, err := os.ReadFile("bag.go")
	if err != nil {
		t.Fatal(err)
	}
	cases := regexp.MustCompile(`\n\tcase "([^"]+)":`).FindAllStringSubmatch(string(source), -1)
	if len(cases) < 15 {
		t.Fatalf("Add has %d cases", len(cases))
	}
	for _, c := range cases {
		if !listed[c[1]] {
			t.Errorf("the page lacks %s", c[1])
		}
	}
}
