package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const configurationPage = "../../docs/configuration.md"

// The table of settings is made from the settings that there are: flag, variable, key and default. What each
// means is written in the page; a setting that is new there gets what its help says. -update writes it.
func TestConfigurationTableIsGenerated(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(configurationPage)
	if err != nil {
		t.Fatal(err)
	}
	got := string(page)
	want := withTable(t, got, settings(), defaultWords(t))
	if *update {
		if err := os.WriteFile(configurationPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		for line := range strings.Lines(want) {
			if !strings.Contains(got, line) {
				t.Errorf("the page lacks\n%s-update writes it", line)
			}
		}
		if !t.Failed() {
			t.Error("the page has a row too many; -update takes it out")
		}
	}
}

func TestGeneratedTableFollowsTheSettings(t *testing.T) {
	t.Parallel()
	const page = "before\n\n| flag | variable | key | default | meaning |\n|---|---|---|---|---|\n" +
		"| `--a` | `SIDECARD_OLD` | `a` | `1` | a \\| b |\n| | `SIDECARD_GONE` | `gone` | none | x |\n| | | `mapping` | none | names |\n\nafter\n"
	const want = "before\n\n| flag | variable | key | default | meaning |\n|---|---|---|---|---|\n" +
		"| `--a` | `SIDECARD_A` | `a` | `2` | a \\| b |\n| | `SIDECARD_B_C` | `b.c` | none | new |\n| | | `mapping` | none | names |\n\nafter\n"
	table := []setting{{key: "a", flag: "a"}, {key: "b.c", usage: "new"}}
	if got := withTable(t, page, table, map[string]string{"a": "2", "b.c": ""}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// withTable returns a page with its table of settings made anew. Rows without a variable of a plain value
// (`--config`, `mapping` and the like) stay as they are, and new rows come before `mapping`.
func withTable(t *testing.T, page string, table []setting, words map[string]string) string {
	t.Helper()
	before, rest, ok := strings.Cut(page, "|---|---|---|---|---|\n")
	rows, after, ok2 := strings.Cut(rest, "\n\n")
	if !ok || !ok2 {
		t.Fatal("the page has no table of settings")
	}
	left := slices.Clone(table)
	var b strings.Builder
	for row := range strings.SplitSeq(rows, "\n") {
		cells := strings.SplitN(row, "|", 6) // before the first bar, four cells, and the rest with the meaning
		key := strings.Trim(cells[3], " `")
		if key == mappingKey {
			for _, s := range left {
				b.WriteString(settingRow(s, words[s.key], "none", s.usage+" |"))
			}
		}
		switch i := slices.IndexFunc(left, func(s setting) bool { return s.key == key }); {
		case i >= 0:
			b.WriteString(settingRow(left[i], words[key], strings.TrimSpace(cells[4]), strings.TrimSpace(cells[5])))
			left = slices.Delete(left, i, i+1)
		case key == "" || key == mappingKey || key == blockResponseKey:
			b.WriteString(row + "\n")
		}
	}
	return before + "|---|---|---|---|---|\n" + b.String() + "\n" + after
}

// settingRow is a row of the table; empty is what it says of a default that is nothing.
func settingRow(s setting, fallback, empty, meaning string) string {
	flag := ""
	if s.flag != "" {
		flag = "`--" + s.flag + "` "
	}
	if fallback != "" {
		empty = "`" + fallback + "`"
	}
	return fmt.Sprintf("| %s| `%s` | `%s` | %s | %s\n", flag, s.variable(), s.key, empty, meaning)
}

// defaultWords returns what a daemon does that was told nothing, by key: a list is joined by commas, and a
// key whose default is nothing is "".
func defaultWords(t *testing.T) map[string]string {
	t.Helper()
	var text bytes.Buffer
	if err := defaults().print(&text); err != nil {
		t.Fatal(err)
	}
	words := make(map[string]string)
	for _, s := range settings() {
		path, err := yaml.PathString("$." + s.key)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := path.Read(bytes.NewReader(text.Bytes()), &value); err != nil {
			t.Fatalf("%s is not printed: %v", s.key, err)
		}
		if list, ok := value.([]any); ok {
			var items []string
			for _, v := range list {
				items = append(items, fmt.Sprint(v))
			}
			value = strings.Join(items, ", ")
		}
		words[s.key] = fmt.Sprint(value)
	}
	return words
}
