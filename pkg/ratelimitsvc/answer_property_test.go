package ratelimitsvc

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// textGen makes texts of what could do harm in any of the places, and of what rules may hold there.
func textGen(parts ...string) *rapid.Generator[string] {
	part := rapid.SampledFrom(append(parts, "{rule}", "{resource}", "{reason}", "{retry_after}", "a", "'", "<", ">", "&", "{", "}", ":", "%0d%0a", ";"))
	return rapid.Custom(func(rt *rapid.T) string { return strings.Join(rapid.SliceOfN(part, 0, 8).Draw(rt, "parts"), "") })
}

// wild are the parts that no header may hold.
var wild = []string{`"`, `\`, " ", "\r\n", "\x00", "\x7f", "\u0085", "\u2028", "é", "\uFFFF"}

// The same as FuzzAnswer, over texts that reach further.
func TestAnswerProperties(t *testing.T) {
	t.Parallel()
	tame, text := textGen(), textGen(wild...)
	accepted := 0
	rapid.Check(t, func(rt *rapid.T) {
		quoted, err := json.Marshal(map[string]string{text.Draw(rt, "key"): text.Draw(rt, "member")})
		if err != nil {
			rt.Fatal(err)
		}
		contentType := rapid.SampledFrom([]string{"application/json", "a/b+json", "text/html", "image/svg+xml", "text/plain", ""}).Draw(rt, "type")
		body := rapid.OneOf(rapid.Just(string(quoted)), text).Draw(rt, "body")
		name := rapid.SampledFrom([]string{"x-rule", "X-A", "x-rule", "X-A", "a\r\nb", "content-length"}).Draw(rt, "name")
		value := rapid.OneOf(tame, tame, text).Draw(rt, "value")
		id := "i" + rapid.OneOf(tame, tame, text).Draw(rt, "id")
		if checkAnswer(t, contentType, body, name, value, id, "r"+text.Draw(rt, "resource"), rapid.Int64().Draw(rt, "reset")) {
			accepted++
		}
	})
	if accepted == 0 {
		t.Error("no rule was accepted, so nothing was tested")
	}
}

// What is put into JSON and read back is what was put in, and an unknown wait is null or nothing.
func TestAnswerJSONIsReadBack(t *testing.T) {
	t.Parallel()
	text := textGen(append(wild, "\xff")...)
	a := newAnswer(&rule.BlockResponse{ContentType: "application/json", Body: `{"rule":"{rule}","resource":"-{resource}-","wait":{retry_after},"text":"{retry_after}"}`})
	rapid.Check(t, func(rt *rapid.T) {
		id, resource := text.Draw(rt, "id"), text.Draw(rt, "resource")
		reset := time.Duration(rapid.Int64Range(0, 1<<50).Draw(rt, "reset"))
		m := decodeResponse(rt, a.appendTo(nil, &engine.Verdict{Code: engine.Block, Reset: reset, Rule: &engine.CompiledRule{ID: id, Resource: resource}}))
		var got struct {
			Rule, Resource, Text string
			Wait                 *int64
		}
		if err := json.Unmarshal(m.GetRawBody(), &got); err != nil {
			rt.Fatalf("%s: %v", m.GetRawBody(), err)
		}
		valid := func(s string) string { return string([]rune(s)) } // U+FFFD for every bad byte
		if got.Rule != valid(id) || got.Resource != valid("-"+resource+"-") {
			rt.Fatalf("got %+v, want rule %q, resource %q", got, id, resource)
		}
		switch {
		case reset == 0 && got.Wait == nil && got.Text == "":
		case reset > 0 && got.Wait != nil && time.Duration(*got.Wait)*time.Second >= reset && time.Duration(*got.Wait-1)*time.Second < reset:
		default:
			rt.Fatalf("got %s for a wait of %v", m.GetRawBody(), reset)
		}
	})
}
