package page

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// busy starts a daemon with something in every part of its page, a load error included.
func busy(t *testing.T) *daemon {
	t.Helper()
	d := start(t, orders)
	d.ask(9, "orders", "header.x-user-id", "bob")
	d.ask(3, "search")
	long := strings.Repeat("very-long-name-", 20)
	d.ask(2, long, "header.x-user-id", long)
	d.write(strings.Replace(orders, `"count": 5`, `"count": "five hundred thousand `+long+`"`, 1))
	return d
}

const busyQuery = "?ask=1&resource=orders&attributes=header.x-user-id%3Dbob"

func media(features ...string) step {
	p := emulation.SetEmulatedMediaParams{}
	for i := 0; i < len(features); i += 2 {
		p.Features = append(p.Features, &emulation.MediaFeature{Name: features[i], Value: features[i+1]})
	}
	return command(emulation.SetEmulatedMedia, p)
}

func phone() step {
	return command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 360, Height: 740, DeviceScaleFactor: 2, Mobile: true})
}

// contrasts returns the texts whose contrast with what is behind them is below what WCAG 2.2 asks for (1.4.3: 4.5, of
// large text 3), and the lines of charts below 3 (1.4.11).
const contrasts = `(() => {
	const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
	const parse = colour => {
		canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
		return [...canvas.getImageData(0, 0, 1, 1).data].map((v, i) => i < 3 ? v : v / 255);
	};
	const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
	const behind = e => {
		const layers = [];
		for (; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
		return layers.reverse().reduce((below, top) => top[3] ? over(top, below) : below, [255, 255, 255, 1]);
	};
	const luminance = c => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => {
		const v = c[i] / 255;
		return sum + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
	}, 0);
	const ratio = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
	const bad = []; let looked = 0;
	const check = (e, colour, least, what) => {
		looked++;
		const back = behind(e), r = ratio(over(parse(colour), back), back);
		if (r < least) bad.push(r.toFixed(2) + " " + colour + " " + what);
	};
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node; node = walker.nextNode();) {
		const e = node.parentElement;
		if (!node.nodeValue.trim() || !e.checkVisibility() || e.closest("svg, noscript, .tip")) continue;
		const style = getComputedStyle(e), size = parseFloat(style.fontSize);
		check(e, style.color, size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5, node.nodeValue.trim().slice(0, 40));
	}
	for (const field of document.querySelectorAll("input:not([type=hidden]), textarea"))
		check(field, getComputedStyle(field, "::placeholder").color, 4.5, "placeholder of " + field.id);
	for (const line of document.querySelectorAll(".chart polyline")) check(line.closest("svg"), getComputedStyle(line).stroke, 3, "line of " + line.parentElement.dataset.title);
	for (const field of document.querySelectorAll("input:not([type=hidden]), textarea, button:not([hidden])")) check(field.parentElement, getComputedStyle(field).borderTopColor, 3, "border of " + (field.id || field.textContent));
	if (looked < 100) bad.push("only " + looked + " colours were looked at");
	return bad;
})()`

func TestContrast(t *testing.T) {
	t.Parallel()
	d := busy(t)
	backs := make(map[string]bool)
	for _, scheme := range []string{"light", "dark"} {
		tb := open(t, d.url+busyQuery, media("prefers-color-scheme", scheme))
		tb.waitText("#failure", "not in force")
		tb.waitText("#explained", "Refused")
		tb.do("document.getElementById('lost').hidden = false; document.getElementById('lost').textContent = 'lost'; document.querySelector('details').open = true")
		if bad := eval[[]string](tb, contrasts); len(bad) > 0 {
			t.Errorf("%s: %s", scheme, strings.Join(bad, "\n"))
		}
		backs[eval[string](tb, "getComputedStyle(document.documentElement).backgroundColor")] = true
	}
	if len(backs) != 2 {
		t.Errorf("both schemes look the same: %v", backs)
	}
}

// labels returns what has no name for those who do not see it, or more of them than one.
const labels = `(() => {
	const bad = [], say = (what, list) => list.forEach(e => bad.push(what + ": " + e.outerHTML.slice(0, 120)));
	const all = s => [...document.querySelectorAll(s)];
	if (!document.documentElement.lang) bad.push("no language");
	if (all("h1").length !== 1) bad.push("not one h1");
	if (all("main").length !== 1) bad.push("not one main");
	say("field without label", all("input:not([type=hidden]), textarea").filter(e => !e.labels?.length));
	say("button or link without a name", all("button, a").filter(e => !e.textContent.trim()));
	say("table without caption", all("table").filter(e => !e.caption?.textContent.trim()));
	say("table without heads", all("table").filter(e => !e.querySelector("th[scope=col]")));
	say("head without scope", all("th").filter(e => !e.scope));
	say("picture without a name", all("svg").filter(e => !e.getAttribute("aria-label") && e.getAttribute("aria-hidden") !== "true"));
	say("section without a name", all("section").filter(e => !document.getElementById(e.getAttribute("aria-labelledby"))?.textContent.trim()));
	const ids = all("[id]").map(e => e.id);
	say("id twice", all("[id]").filter(e => ids.indexOf(e.id) !== ids.lastIndexOf(e.id)));
	say("link to nowhere", all("a[href^='#']").filter(e => !document.getElementById(e.getAttribute("href").slice(1))));
	let level = 0;
	for (const h of all("h1, h2, h3, h4")) { const l = +h.tagName[1]; if (l > level + 1) bad.push("heading " + h.textContent + " leaves out a level"); level = l; }
	for (const table of all("table.stack")) for (const row of table.rows) {
		if (row.getAttribute("role") !== "row") say("row without role", [row]);
		say("cell without role", [...row.cells].filter(c => !c.getAttribute("role")));
		if (row.parentElement.tagName === "TBODY") say("cell without label", [...row.cells].filter(c => !c.dataset.label));
	}
	return bad;
})()`

func TestEverythingHasAName(t *testing.T) {
	t.Parallel()
	d := busy(t)
	tb := open(t, d.url+busyQuery)
	tb.waitText("#failure", "not in force")
	d.ask(9, "orders", "header.x-user-id", "bob") // while values are gathered
	tb.waitText("#values", "bob")
	if bad := eval[[]string](tb, labels); len(bad) > 0 {
		t.Error(strings.Join(bad, "\n"))
	}
}

// On a phone nothing runs out of the page, whatever it is called, and tables stay tables to whoever has them read out.
func TestFitsAPhone(t *testing.T) {
	t.Parallel()
	d := busy(t)
	tb := open(t, d.url+busyQuery, phone())
	tb.waitText("#failure", "not in force")
	tb.waitText("#resources", "very-long-name")
	tb.do("document.querySelector('details').open = true")
	if got := eval[[]string](tb, `[...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && !e.closest("nav, .skip, .errors, svg") && e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 100))`); len(got) > 0 {
		t.Errorf("%d run out: %q", len(got), got[:min(len(got), 5)])
	}
	if width := eval[int](tb, "document.scrollingElement.scrollWidth"); width > 360 {
		t.Errorf("it is %d pixels wide", width)
	}
	if display := eval[string](tb, "getComputedStyle(document.querySelector('#rules tbody tr')).display"); display != "block" {
		t.Errorf("rows are laid out as %s", display)
	}
	small := eval[[]string](tb, `[...document.querySelectorAll("button:not([hidden]), input:not([type=hidden]), textarea")].filter(e => e.getBoundingClientRect().height < 24).map(e => e.outerHTML)`)
	if len(small) > 0 { // WCAG 2.2, 2.5.8
		t.Errorf("too small to be hit: %q", small)
	}
}

// Everything is reached by the keyboard, shows that it is, and stays where it was while figures change.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	d := start(t, orders)
	d.ask(9, "orders", "header.x-user-id", "bob")
	tb := open(t, d.url)
	tb.waitText("#freshness", "live")
	focused := func() string {
		return eval[string](tb, `document.activeElement.id || document.activeElement.textContent.trim()`)
	}
	tb.run(chromedp.KeyEvent(kb.Tab))
	if got := focused(); got != "Skip to what is limited now" {
		t.Errorf("the first stop is %q", got)
	}
	tb.run(chromedp.KeyEvent(kb.Enter))
	if got := focused(); got != "limited" {
		t.Errorf("it skips to %q", got)
	}
	tb.do("document.activeElement.blur(); getSelection().removeAllRanges(); document.querySelector('.skip').focus()")
	reached := make(map[string]bool)
	stops := eval[int](tb, `[...document.querySelectorAll("a, button, input, textarea, summary")].filter(e => e.checkVisibility() && e.type !== "hidden").length`)
	for range stops + 5 {
		id := focused()
		reached[id] = true
		if !eval[bool](tb, `document.activeElement === document.body || (s => s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2)(getComputedStyle(document.activeElement))`) {
			t.Errorf("nobody sees that %q has the focus", id)
		}
		tb.run(chromedp.KeyEvent(kb.Tab))
	}
	for _, want := range []string{"Rules", "Refused /s", "find", "ask-resource", "ask-attributes", "Explain", "orders-per-user", "pause"} {
		if !reached[want] {
			t.Errorf("%q is not reached: %v", want, reached)
		}
	}

	head := `[...document.querySelectorAll("#rules th a")].find(a => a.textContent === "Passed")`
	tb.do(head + ".focus()")
	tb.run(chromedp.KeyEvent(kb.Enter))
	tb.wait(head + `.closest("th").ariaSort === "descending"`)
	tb.wait(`[...document.querySelectorAll("#rules tbody tr")].map(r => r.cells[5].innerText).join() === "5,5,0"`)
	if got := focused(); got != "Passed" {
		t.Errorf("after sorting the focus is on %q", got)
	}
	tb.run(chromedp.KeyEvent(kb.Enter))
	tb.wait(head + `.closest("th").ariaSort === "ascending"`)
	if got := tb.text("#rules tbody th"); !strings.Contains(got, "search-all") {
		t.Errorf("the first is %q", got)
	}
	tb.run(chromedp.NavigateBack())
	tb.wait(head + `.closest("th").ariaSort === "descending"`)

	tb.do("document.getElementById('pause').focus()")
	tb.run(chromedp.KeyEvent(" "))
	tb.wait("document.getElementById('pause').ariaPressed === 'true'")
	tb.waitText("#freshness", "paused")
}

// The form asks without the page being loaded again, says what is wrong with a question, and its link can be shared.
func TestExplainsARequest(t *testing.T) {
	t.Parallel()
	d := start(t, orders)
	d.ask(9, "orders", "header.x-user-id", "bob")
	tb := open(t, d.url)
	tb.waitText("#freshness", "live")
	tb.do("window.same = true")
	ask := func(field, text string) {
		t.Helper()
		tb.run(chromedp.SetValue(chromedp.CSS("#ask-"+field), text))
	}
	ask("resource", "orders")
	ask("attributes", "haeder.x-user-id=bob")
	tb.click("#ask button")
	tb.waitText("#explained [role=alert]", `"haeder.x-user-id" is no attribute`)
	ask("attributes", "header.x-user-id=bob\n")
	tb.run(chromedp.Focus(chromedp.CSS("#ask-resource")), chromedp.KeyEvent(kb.Enter))
	tb.waitText("#explained .answer", "Refused: block by orders-per-user, reason limit")
	for _, want := range []string{"decides", "5 of 5 per 60s", `header x-user-id = "bob"`, "orders-all", "the client gets status 429"} {
		if text := tb.text("#explained"); !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if got := eval[string](tb, "document.activeElement.id"); got != "explained" {
		t.Errorf("the focus is on %q", got)
	}
	ask("attributes", "header.x-user-id=carol")
	tb.click("#ask button")
	tb.waitText("#explained .answer", "Passes: pass by orders-per-user, 4 of 5 remain")
	if !eval[bool](tb, "window.same === true") {
		t.Error("the page was loaded again")
	}
	shared := open(t, eval[string](tb, "location.href"))
	shared.waitText("#explained .answer", "Passes: pass by orders-per-user")
	if got := eval[string](shared, "document.getElementById('ask-attributes').value"); got != "header.x-user-id=carol" {
		t.Errorf("the form has %q", got)
	}
	if passed := d.ask(6, "orders", "header.x-user-id", "carol"); passed != 5 {
		t.Errorf("explaining was charged: %d pass", passed)
	}
}
