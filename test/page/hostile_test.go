package page

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode"
)

// payloads are what would do something if any of it were taken for more than text.
var payloads = []string{
	`<img src=x onerror="window.pwned=1">`,
	`<script>window.pwned=2</script>`,
	`"><svg onload="window.pwned=3">`,
	`' autofocus onfocus='window.pwned=4`,
	`</code></td></tr></table><iframe src="javascript:window.pwned=5"></iframe>`,
	`javascript:window.pwned=6`,
	`{{.Host}}<style>*{display:none}</style>`,
	`</title><base href="//192.0.2.1/"><link rel=stylesheet href="//192.0.2.1/x.css">`,
	"<!--", `<plaintext>`, `&lt;b&gt;&quot;`, "\u202egnp.exe", "a\x00b\x1b[31m",
}

// harmless holds that nothing of the payloads has become part of the document.
func harmless(t *testing.T, tb *tab) {
	t.Helper()
	if pwned := eval[bool](tb, "window.pwned !== undefined"); pwned {
		t.Error("a payload ran")
	}
	found := eval[[]string](tb, `[...document.querySelectorAll("img, iframe, base, style, plaintext, script, link, svg, [onload], [onerror], [onfocus], [autofocus], a[href^='javascript']")]
		.filter(e => !e.matches("head > script[src='/assets/page.js'], head > link[href^='/assets/'], svg.chart, svg.share"))
		.map(e => e.outerHTML)`)
	if len(found) > 0 {
		t.Errorf("in the document: %q", found)
	}
}

// Resources, parameter values and rules are called what anybody likes; so are the questions in a link that somebody is
// made to follow.
func TestNamesAreText(t *testing.T) {
	t.Parallel()
	var rules []map[string]any
	all := strings.Join(payloads, " ")
	for i, p := range payloads {
		rules = append(rules, map[string]any{
			"id": fmt.Sprintf("r%d %s", i, p), "resource": p, "count": 1, "intervalSec": 60,
			"paramItem": map[string]any{"parseStrategy": "header", "fieldName": "x-user-id"},
		})
	}
	text := func(rules []map[string]any) string {
		data, err := json.Marshal(rules)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	// An id with quotes, and any name with control characters, is refused at load, and shown as what is wrong with the file.
	d := start(t, text(rules))
	tb := open(t, d.url)
	tb.waitText("#failure", "have been refused")
	harmless(t, tb)
	for _, r := range rules {
		r["id"] = keep(r["id"].(string), func(c rune) bool { return c >= ' ' && c <= '~' && c != '"' && c != '\\' })
		r["resource"] = keep(r["resource"].(string), unicode.IsPrint)
	}
	d.write(text(rules))
	tb.wait("document.querySelectorAll('#rules tbody tr').length == " + fmt.Sprint(len(rules)))
	for range 2 { // the second time while values are gathered
		for _, p := range payloads {
			d.ask(3, p, "header.x-user-id", p)
			d.ask(1, "free "+p) // no rule names it
		}
		tb.wait("document.querySelectorAll('#limited tbody tr').length >= 10")
	}
	tb.waitText("#values", "<img src=x onerror")
	tb.waitText("#limited tbody", `<img src=x onerror="window.pwned=1">`)
	tb.waitText("#resources tbody", payloads[0])
	tb.do(`document.querySelector("#resources a[href*='show=all']").click()`)
	tb.waitText("#resources tbody", `free a\x00b\x1b[31m`) // what nobody would see is written out
	tb.waitText("#resources tbody", `free \u202egnp.exe`)
	harmless(t, tb)

	for _, hits := range []string{"1", "1" + all} { // a question that is answered, and one that is not
		q := url.Values{"ask": {"1"}, "resource": {all}, "domain": {all}, "path": {all}, "method": {all}, "client": {all}, "hits": {hits},
			"attributes": {"header.x-user-id=" + all + "\nquery.q=" + all}, "find": {all}, "rules": {all}, "resources": {all}, "show": {"all"}}
		linked := open(t, d.url+"?"+q.Encode())
		linked.waitText("#explained .answer", map[bool]string{true: "no rule applies", false: "hits: "}[hits == "1"])
		harmless(t, linked)
	}
}

// keep returns the characters of a text that are wanted.
func keep(text string, wanted func(c rune) bool) string {
	return strings.Map(func(c rune) rune {
		if wanted(c) {
			return c
		}
		return -1
	}, text)
}

// Even if something got in, the browser would not run it: nothing inline does, and nothing of others is fetched.
func TestPolicyRunsNothingInline(t *testing.T) {
	t.Parallel()
	d := start(t, orders)
	tb := open(t, d.url)
	tb.expect("Content Security Policy")
	tb.waitText("#freshness", "live")
	got := eval[string](tb, `(() => {
		const blocked = [];
		document.addEventListener("securitypolicyviolation", e => blocked.push(e.effectiveDirective));
		const inline = document.createElement("script");
		inline.textContent = "window.pwned = 1";
		document.body.append(inline);
		const box = document.createElement("div");
		box.innerHTML = '<p style="color: red" onclick="window.pwned = 2">x</p>';
		document.body.append(box);
		box.firstChild.click();
		return String(window.pwned);
	})()`)
	if got != "undefined" {
		t.Errorf("it ran: %s", got)
	}
}
