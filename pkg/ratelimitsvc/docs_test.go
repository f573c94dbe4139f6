package ratelimitsvc

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// answersPage is the page about answers, and the blocks of code in it.
func answersPage(t *testing.T) (page string, blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/answers.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "\n```") {
		if i%2 == 1 {
			_, code, _ := strings.Cut(part, "\n")
			blocks = append(blocks, code)
		}
	}
	return string(text), blocks
}

// The examples of the page: the body that is there anyway, a rule, and what it is answered with.
func TestAnswersPageExamples(t *testing.T) {
	t.Parallel()
	_, blocks := answersPage(t)
	if len(blocks) != 3 {
		t.Fatalf("got %d blocks of code, want 3", len(blocks))
	}
	answer := func(rules string) string {
		w := newWorld(t, nil)
		w.apply(t, rules)
		w.ask(t, describe(pairs("route", "orders")))
		m := w.ask(t, describe(pairs("route", "orders")))
		out := ""
		for _, h := range m.GetResponseHeadersToAdd() {
			out += h.GetKey() + ": " + h.GetValue() + "\n"
		}
		return out + "\n" + string(m.GetRawBody())
	}
	if got := answer(blocks[1]); got != blocks[2] {
		t.Errorf("got %q, the page says %q", got, blocks[2])
	}
	plain := answer(`[{"id": "orders", "resource": "orders", "count": 1, "intervalSec": 60}]`)
	if _, got, _ := strings.Cut(plain, "\n\n"); got != blocks[0] {
		t.Errorf("got %q, the page says %q", got, blocks[0])
	}
}

// The page about calls under way shows rules that are loaded, the entry that the log tells to add, and the
// bounds that hold.
func TestOutcomesPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/outcomes.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	blocks := strings.Split(page, "```")
	if len(blocks) != 7 { // the last is tried where the config file is read
		t.Fatalf("got %d blocks of code, want 3", len(blocks)/2)
	}
	w := newWorld(t, nil)
	w.apply(t, strings.TrimPrefix(blocks[1], "json"))
	if !w.engine.Outcomes() {
		t.Error("the rules of the page count nothing that ends")
	}
	if got := strings.TrimPrefix(blocks[3], "yaml\n"); got != OutcomeEntry {
		t.Errorf("the page says\n%s\nand the log\n%s", got, OutcomeEntry)
	}
	for flag := range upstreamFlags {
		if !strings.Contains(page, " "+flag+" ") && !strings.Contains(page, "`"+flag+" ") && !strings.Contains(page, " "+flag+"`") {
			t.Errorf("the flag %s is not there", flag)
		}
	}
	if !strings.Contains(page, "1 048 576") || engine.DefaultMaxTokens != 1_048_576 {
		t.Error("the page and the engine differ in how many calls can be under way")
	}
}

// The page names all reasons, placeholders and mistakes.
func TestAnswersPageIsComplete(t *testing.T) {
	t.Parallel()
	page, _ := answersPage(t)
	words := []string{"`" + errDomain.Error() + "`", "`" + errDescriptors.Error() + "`", "`" + errEntries.Error() + "`",
		"At most " + strconv.Itoa(calls.DefaultMaxWaiting) + " calls", strconv.Itoa(int(calls.AnswerTime.Milliseconds())) + " ms"}
	for r := engine.ReasonNone + 1; r.String() != engine.ReasonNone.String(); r++ {
		words = append(words, "| `"+r.String()+"` |")
	}
	for p := rule.PlaceholderNone + 1; p.String() != ""; p++ {
		words = append(words, "| `"+p.String()+"` |")
	}
	for _, word := range words {
		if !strings.Contains(page, word) {
			t.Errorf("%s is not there", word)
		}
	}
}
