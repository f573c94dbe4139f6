package page

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// What is refused is there within seconds, without the page being loaded again: how much, by which rule, why, for whom
// and where the rule is written.
func TestShowsWhatIsRefused(t *testing.T) {
	t.Parallel()
	d := start(t, orders)
	tb := open(t, d.url)
	tb.waitText("#limited", "No requests in the last 10 seconds")
	tb.waitText("#limited", "No traffic")
	tb.do("window.same = true")
	if allowed := d.ask(25, "orders", "header.x-user-id", "bob"); allowed != 5 {
		t.Fatalf("%d were allowed", allowed)
	}
	d.ask(3, "search")
	tb.waitText("#limited .headline", "of requests are refused")
	tb.waitText("#limited table", "orders-per-user")
	row := tb.text("#limited tbody tr")
	for _, want := range []string{"orders-per-user", "orders", "limit 5 per 60s", "for each header x-user-id", "gw-flow-rules.json:2:3"} {
		if !strings.Contains(row, want) {
			t.Errorf("%q is not in the row %q", want, row)
		}
	}
	if text := tb.text("#limited tbody"); strings.Contains(text, "orders-all") {
		t.Errorf("a rule that refuses nothing is there: %s", text)
	}
	if title := eval[string](tb, "document.title"); !strings.Contains(title, "/s refused") {
		t.Errorf("the title is %q", title)
	}
	tb.waitText("#resources tbody tr", "orders")
	if n := eval[int](tb, "document.querySelectorAll('#resources svg.chart .block polyline').length"); n != 1 {
		t.Errorf("%d resources have a line of refusals", n)
	}
	tb.waitText("#resources", "No outcome reports")
	d.ask(20, "orders", "header.x-user-id", "bob") // while the values are looked at
	tb.waitText("#limited tbody tr", "bob")
	tb.waitText("#values", "bob")
	if !eval[bool](tb, "window.same === true") {
		t.Error("the page was loaded again")
	}
}

// A rule in shadow refuses nothing, and is told apart.
func TestShowsShadowApart(t *testing.T) {
	t.Parallel()
	d := start(t, `[{"id": "dark", "resource": "search", "count": 1, "intervalSec": 60, "shadow": true}]`)
	tb := open(t, d.url)
	d.ask(5, "search")
	tb.waitText("#limited", "In shadow, would refuse: dark")
	tb.waitText("#limited .headline", "Nothing is limited")
	tb.waitText("#rule-0", "would 4")
}

// Where the pointer is on a chart, the figures of that second are told.
func TestChartsTellTheirFigures(t *testing.T) {
	t.Parallel()
	d := start(t, orders)
	tb := open(t, d.url)
	d.ask(8, "orders", "header.x-user-id", "bob")
	tb.wait("document.querySelectorAll('#limited svg.chart .block polyline').length == 1")
	tb.click("#pause")
	got := eval[string](tb, `(() => {
		const chart = document.querySelector("#limited svg.chart"), box = chart.getBoundingClientRect();
		const line = chart.querySelector(".block polyline").getAttribute("points").split(" ").map(p => p.split(",").map(Number));
		const [second] = line.reduce((a, b) => b[1] > a[1] ? b : a);
		const x = box.left + second / chart.viewBox.baseVal.width * box.width;
		chart.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: x, clientY: box.top + 5}));
		return document.querySelector(".tip").innerText;
	})()`)
	if !strings.Contains(got, "passed 5 /s, refused 3 /s") {
		t.Errorf("it tells %q", got)
	}
}

// Files that are not in force are told of before all else, with file, line and what is wrong; the rules before them stay.
func TestShowsWhyRulesAreNotInForce(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	tb := open(t, d.url)
	tb.waitText("#state", "not ready")
	tb.waitText("#limited", "No rules are in force")
	tb.waitText("#failure", "There are no rules before them")
	tb.waitText("#rules", "No rules are loaded")
	d.write(orders)
	tb.waitText("#state", "ready")
	tb.waitText("#state", "3 rules")
	tb.wait("!document.querySelector('#failure .banner')")
	d.write(strings.Replace(orders, `"count": 5`, `"count": "<b>five</b>"`, 1))
	tb.waitText("#failure [role=alert]", "The newest rule files are not in force")
	tb.waitText("#failure", "gw-flow-rules.json:2:")
	tb.waitText("#failure", "stay in force")
	tb.waitText("#rules tbody", "orders-per-user")
	d.write("[]")
	tb.waitText("#limited", "No rules are loaded: every request passes")
	tb.wait("!document.querySelector('#failure .banner')")
}

// The page outlives the daemon, says that it is old meanwhile, and goes on with the next one.
func TestOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	d := start(t, orders)
	tb := open(t, d.url)
	tb.expect("ERR_CONNECTION_REFUSED")
	tb.expect("ERR_CONNECTION_RESET")
	tb.waitText("#freshness", "live")
	tb.do("window.same = true")
	d.stop()
	tb.waitText("#lost", "The daemon does not answer")
	tb.waitText("#rules tbody", "orders-per-user")
	d.write(`[{"id": "another", "resource": "orders", "count": 5}]`)
	d.serve()
	tb.wait("document.getElementById('lost').hidden")
	tb.waitText("#rules tbody", "another")
	if !eval[bool](tb, "window.same === true") {
		t.Error("the page was loaded again")
	}
}

// A page whose refresh is paused, or that nobody can see, asks for nothing; it does again at once when it is wanted.
// The browser's own time is made to pass.
func TestAsksOnlyWhileItIsWanted(t *testing.T) {
	t.Parallel()
	d := start(t, orders)
	tb := open(t, d.url)
	tb.waitText("#freshness", "live")
	pass := func(asking bool, when string) {
		t.Helper()
		before, budget := tb.asked(), 20_000.0
		get(tb, chromedp.WaitEvent(emulation.VirtualTimeBudgetExpired, nil, command(emulation.SetVirtualTimePolicy,
			emulation.SetVirtualTimePolicyParams{Policy: emulation.VirtualTimePolicyPauseIfNetworkFetchesPending, Budget: &budget})))
		if now := tb.asked(); (now > before) != asking {
			t.Errorf("%s: %d requests in 20 s", when, now-before)
		}
	}
	pass(true, "while it is seen")
	tb.click("#pause")
	pass(false, "while it is paused")
	tb.click("#pause")
	pass(true, "after the pause")
	hide := func(hidden string) {
		tb.do(`Object.defineProperty(document, "hidden", {configurable: true, value: ` + hidden + `}); document.dispatchEvent(new Event("visibilitychange"))`)
	}
	hide("true")
	pass(false, "while nobody sees it")
	hide("false")
	pass(true, "when it is seen again")
}

// Without JavaScript the page is whole: figures, rules, links that sort, and the form.
func TestIsWholeWithoutJavaScript(t *testing.T) {
	t.Parallel()
	d := start(t, orders)
	d.ask(8, "orders", "header.x-user-id", "bob")
	tb := open(t, d.url+"?rules=-total", command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	for selector, want := range map[string]string{
		"#rules tbody tr": "gw-flow-rules.json:2:3", "#resources tbody": "orders", "#limited": "gw-flow-rules.json",
		"#freshness": "reload the page for newer figures", "#daemon": "Running since",
	} {
		if got := get(tb, chromedp.Text(chromedp.CSS(selector))); !strings.Contains(got, want) {
			t.Errorf("%s has no %q: %s", selector, want, got)
		}
	}
	tb.run(
		chromedp.SendKeys(chromedp.CSS("#ask-resource"), "orders"),
		chromedp.SendKeys(chromedp.CSS("#ask-attributes"), "header.x-user-id=bob"),
		chromedp.Click(chromedp.CSS("#ask button")),
		chromedp.WaitVisible(chromedp.CSS("#explained .answer")),
	)
	answer := get(tb, chromedp.Text(chromedp.CSS("#explained")))
	if !strings.Contains(answer, "Refused") || !strings.Contains(answer, "orders-per-user") {
		t.Errorf("the answer is %s", answer)
	}
}
