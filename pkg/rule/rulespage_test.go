package rule

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const (
	rulesPage  = "../../docs/rules.md"
	tableBegin = "<!-- Fields of %s: written by `make docs` from the declarations in pkg/rule. -->\n"
	tableEnd   = "<!-- End of fields. -->\n"
)

// tableObjects are the mappings of which docs/rules.md has a table.
func tableObjects() []object {
	var out []object
	for k := range numKinds {
		out = append(out, k.object())
	}
	out = append(out, bundleSchema.object())
	seen := make(map[string]bool)
	for i := 0; i < len(out); i++ { // with those inside of them
		seen[out[i].what] = true
		for _, d := range out[i].fields {
			if d.nested == nil {
				continue
			}
			if o := d.nested(); !seen[o.what] {
				seen[o.what] = true
				out = append(out, o)
			}
		}
	}
	return out
}

// table is the table of one mapping.
func (o object) table() string {
	var b strings.Builder
	b.WriteString("| field | type | unit | default | meaning | Sentinel | here |\n|---|---|---|---|---|---|---|\n")
	var ignored, refused []string
	for i := range o.fields {
		switch d := &o.fields[i]; {
		case d.ignored:
			ignored = append(ignored, "`"+d.name+"`")
		case d.refused != "":
			refused = append(refused, "`"+d.name+"` ("+d.refused+")")
		default:
			b.WriteString(d.row())
		}
	}
	if len(ignored) > 0 {
		fmt.Fprintf(&b, "\nRead and ignored, with a warning: %s.\n", strings.Join(ignored, ", "))
	}
	if len(refused) > 0 {
		fmt.Fprintf(&b, "\nRefused: %s.\n", strings.Join(refused, ", "))
	}
	return b.String()
}

func (d *declaration) row() string {
	def := "none"
	switch {
	case d.required:
		def = "**required**"
	case d.def != "" && d.def != `""`:
		def = "`" + strings.Trim(d.def, `"`) + "`"
	}
	cells := []string{"`" + d.name + "`", d.typeText(), d.unit, def, d.doc, d.upstream, d.differs}
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func (d *declaration) typeText() string {
	switch {
	case d.enum != nil:
		return d.enum.cell()
	case d.typ == typeInteger:
		return fmt.Sprintf("integer, %d to %d", d.min, d.max)
	case d.typ == typeWhole:
		return fmt.Sprintf("integer, at most %d", d.max)
	case d.typ == typeText && d.numberID:
		return fmt.Sprintf("string, at most %d bytes; or a number", d.max)
	case d.typ == typeText:
		return fmt.Sprintf("string, at most %d bytes", d.max)
	case d.nested != nil:
		_, what, _ := strings.Cut(d.nested().what, " ")
		return string(d.typ) + ", see [" + what + "](#" + strings.ReplaceAll(strings.ToLower(what), " ", "-") + ")"
	}
	return string(d.typ)
}

// cell lists the values of an enumeration, with the numbers that stand for them.
func (e *enumeration) cell() string {
	var words []string
	for _, m := range e.members {
		if m.known {
			continue
		}
		var also []string
		if !e.byName && m.number != noNumber {
			also = append(also, fmt.Sprint(m.number))
		}
		if m.alias != "" {
			also = append(also, "`"+m.alias+"`")
		}
		word := "`" + m.name + "`"
		if len(also) > 0 {
			word += " (" + strings.Join(also, ", ") + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// The tables of the page are what the declarations say, all of them are there, and what they refer to is.
// -update writes them.
func TestRulesPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(rulesPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, o := range tableObjects() {
		begin := fmt.Sprintf(tableBegin, o.what)
		before, rest, ok := strings.Cut(page, begin)
		_, after, ok2 := strings.Cut(rest, tableEnd)
		if !ok || !ok2 {
			t.Errorf("the page lacks the lines for the table of %s:\n%s%s", o.what, begin, tableEnd)
			continue
		}
		page = before + begin + "\n" + o.table() + "\n" + tableEnd + after
		_, what, _ := strings.Cut(o.what, " ")
		if !strings.Contains(strings.ToLower(page), "# "+strings.ToLower(what)+"\n") {
			t.Errorf("no heading says %q", what)
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(rulesPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if page != string(text) {
		t.Error("the tables are not what the declarations say; `make docs` writes them")
	}
}
