package metrics

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/metrics.md")

const (
	pageFile   = "../../docs/metrics.md"
	tableBegin = "<!-- The tables are written by `make docs` from internal/metrics/table.go. -->\n"
	tableEnd   = "<!-- End of what is written by `make docs`. -->\n"
)

// tables returns the tables of the page: the metrics, and what their labels mean.
func tables() string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range Families() {
		labels := make([]string, len(f.Labels))
		for i, l := range f.Labels {
			labels[i] = "`" + l.Name + "`"
		}
		kind := string(f.Type)
		if f.Unit != "" {
			kind += ", " + f.Unit
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, kind, strings.Join(labels, ", "), f.Help)
	}
	b.WriteString("\n| label | of | values | meaning |\n|---|---|---|---|\n")
	of := make(map[string][]string) // metrics, by what the row of their label says
	var rows []string
	for _, f := range Families() {
		for _, l := range f.Labels {
			values := make([]string, len(l.Values))
			for i, v := range l.Values {
				values[i] = "`" + v + "`"
			}
			row := "`" + l.Name + "`\x00" + strings.Join(values, ", ") + " | " + l.Help + " |"
			if of[row] == nil {
				rows = append(rows, row)
			}
			of[row] = append(of[row], "`"+f.Name+"`")
		}
	}
	for _, row := range rows {
		name, rest, _ := strings.Cut(row, "\x00")
		metrics := strings.Join(of[row], ", ")
		if len(of[row]) > 3 {
			metrics = "what belongs to a rule"
		}
		fmt.Fprintf(&b, "| %s | %s | %s\n", name, metrics, rest)
	}
	return b.String()
}

// The page of the metrics says what the table says.
func TestPageIsTheTable(t *testing.T) {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the lines between which the tables stand", pageFile)
	}
	want := before + tableBegin + "\n" + tables() + "\n" + tableEnd + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the table says; run `make docs`", pageFile)
	}
	if err := os.WriteFile(pageFile, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
