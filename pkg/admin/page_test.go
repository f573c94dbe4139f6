package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

const shop = `
domain: shop
gatewayFlowRules:
- {id: orders, resource: orders, count: 500}
- {id: user, resource: orders, count: 3, paramItem: {parseStrategy: header, fieldName: x-user}}
- {id: dark, resource: search, count: 1, shadow: true}
degradeRules:
- {id: failing, resource: orders, grade: error_ratio, count: 0.5, timeWindow: 5}
`

// text returns what is at a URL of the page, without tags and with each white space as one blank.
func (w *world) text(target string) string {
	w.t.Helper()
	got := w.request("GET", target, "")
	if got.Code != http.StatusOK {
		w.t.Fatalf("%s: got %d, %s", target, got.Code, got.Body)
	}
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(got.Body.String(), " ")
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), thin, " ")
}

func (w *world) holds(target string, wanted ...string) {
	w.t.Helper()
	text := w.text(target)
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			w.t.Errorf("%s: %q is not in %s", target, want, text)
		}
	}
}

// What is refused is there: how much, by which rule, why, for whom and where it is written.
func TestPageShowsWhatIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop, nil)
	w.holds("/", "No requests in the last 10 seconds.", "No traffic: nothing has been asked in the last 5 minutes.", "Without requests in the last 5 minutes: orders, search.")
	w.ask(23, "resource", "orders", "header.x-user", "bob")
	w.ask(5, "resource", "search")
	w.now += 4e9
	w.holds("/", "71 % of requests are refused: 2.0/s of 2.8/s, by 1 rule.",
		"user orders in shop 5.0 0.8 limit 3 per 1s, for each header x-user", "rules.yaml:5:3",
		"In shadow, would refuse: dark 1.0/s", "No outcome reports: nobody tells how calls end", "500 per 1s", "closed opens above 50% errors")
	w.ask(10, "resource", "orders", "header.x-user", strings.Repeat("<bob>", 50))
	w.now += 2e9
	w.holds("/", "&lt;bob&gt;", "… 250 bytes 100 %")
	w.now += 60e9
	w.holds("/", "No requests in the last 10 seconds.", "The last refusal was 60 s ago , by user")
	w.load("{gatewayFlowRules: []}")
	w.holds("/", "No rules are loaded: every request passes.")
}

func TestPageShowsBreakersAndReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop, nil)
	for range 5 {
		c := w.call("resource", "orders")
		w.now += 30e6
		if !w.engine.Complete(w.now, c.Token, engine.Outcome{Error: true}) {
			t.Fatal("the end of a call was not taken")
		}
	}
	w.now += 1e9
	w.holds("/", "All of 0.5/s pass; 1 circuit breaker is not closed.", "open since 1 s ago opens above 50% errors", "Failed /s", "30 ms")
	if text := w.text("/"); strings.Contains(text, "No outcome reports") {
		t.Error(text)
	}
}

func TestPageShowsLoadErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop, nil)
	w.daemon.Loading.Err = errors.New("a.json:3:7: error: count: is no number\nb.json:1:1: error: is <empty>")
	w.daemon.Loading.FailedAt = time.Unix(0, start)
	w.now += 90e9
	w.holds("/", "The newest rule files are not in force", "They have been refused 90 s ago .", "stay in force until the files are mended",
		"a.json:3:7: error: count: is no number", "b.json:1:1: error: is &lt;empty&gt;")
}

func TestPageSortsAndFinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop, nil)
	w.ask(9, "resource", "orders", "header.x-user", "bob")
	w.now += 2e9
	for query, want := range map[string]string{
		"":                          "orders user dark failing",
		"rules=id":                  "dark failing orders user",
		"rules=-id":                 "user orders failing dark",
		"rules=-total":              "user orders dark failing",
		"rules=source":              "orders user dark failing",
		"rules=limits":              "failing dark user orders", // by kind, then words
		"rules=nonsense":            "orders user dark failing",
		"find=USER":                 "user",
		"find=degrade":              "failing",
		"find=rules.yaml&rules=-id": "user orders failing dark",
		"find=nothing":              "",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range w.server.viewPage(readPageQuery(q)).Rules.Rows {
			got = append(got, r.ID)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: got %q, want %q", query, s, want)
		}
	}
	w.ask(1, "resource", "search")
	w.now += 1e9
	for _, o := range []order{{By: "name"}, {By: "passed", Descend: true}, {By: "errors"}, {By: "rt"}, {By: "inflight", Descend: true}} {
		var names []string
		for _, r := range w.server.viewPage(pageQuery{Resources: o}).Resources.Rows {
			names = append(names, r.Name)
		}
		if s := strings.Join(names, " "); s != "orders search" {
			t.Errorf("%+v: got %s", o, s)
		}
	}
}

// The head of a column keeps what else is asked for, and sorts the other way round when it is used again.
func TestColumnHeads(t *testing.T) {
	t.Parallel()
	q := readPageQuery(url.Values{"find": {"a&b"}, "rules": {"-total"}})
	for _, c := range []struct {
		by     string
		figure bool
		want   column
	}{
		{"id", false, column{URL: "/?find=a%26b&rules=id#rules"}},
		{"passed", true, column{URL: "/?find=a%26b&rules=-passed#rules", Class: "n"}},
		{"total", true, column{URL: "/?find=a%26b&rules=total#rules", Class: "n", Sort: "descending"}},
	} {
		if got := q.head(q.Rules, c.by, "", "", c.figure); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.by, got, c.want)
		}
	}
	if got := readPageQuery(url.Values{"show": {"all"}}).With("show", ""); got != "/" {
		t.Errorf("got %s", got)
	}
}

// A rule that is not among those that are shown is linked to all the same.
func TestPageLinksToRules(t *testing.T) {
	t.Parallel()
	var rules strings.Builder
	rules.WriteString("gatewayFlowRules:\n")
	for i := range pageRules + 2 {
		fmt.Fprintf(&rules, "- {id: \"r&%d\", resource: r%d, count: 1}\n", i, i)
	}
	w := newWorld(t, rules.String(), nil)
	w.server.recent.gather(w.now, w.engine.Rules())
	w.ask(3, "resource", "r0")
	w.ask(3, "resource", fmt.Sprintf("r%d", pageRules))
	w.now += 1e9
	text := w.request("GET", "/?find=r", "").Body.String()
	for _, want := range []string{`href="#rule-0"`, `href="/?find=r%26` + strconv.Itoa(pageRules) + `#rules"`, "2 more:"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

func TestPageExplains(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop, nil)
	w.ask(4, "resource", "orders", "header.x-user", "bob")
	w.holds("/?ask=1&domain=shop&resource=orders&attributes=header.x-user%3Dbob%0D%0A%0D%0Aquery.q%3D%3Cb%3E", "Refused : block by user, reason limit",
		"block decides user 3 of 3 per 1s", "header x-user", "URL parameter q &lt;b&gt;")
	w.holds("/?ask=1&domain=shop&resource=none&path=/a&method=get&client=192.0.2.7", "Passes : pass, no rule applies", "method GET", "client address 192.0.2.7")
	w.holds("/?ask=1&hits=0", "hits: &#34;0&#34; is no whole number above 0")
	w.holds("/?ask=1&attributes=x", "attributes: &#34;x&#34; has no value, write KEY=VALUE")
	w.holds("/?ask=1&attributes=haeder.x%3D1", "is no attribute")
}

// fill sets all that can be set: nothing is absent, empty or zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(0, start)))
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(f)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint64:
		v.SetUint(3)
	case reflect.Float64:
		v.SetFloat(0.5)
	}
}

// Templates are not compiled: what they make of a type shows only when they come to it. So they are made to come to
// everything, with all there is and with nothing.
func TestTemplatesKnowTheirTypes(t *testing.T) {
	t.Parallel()
	p := newPage()
	for _, change := range []func(v *pageView){
		func(*pageView) {},
		func(v *pageView) { *v = pageView{Explained: &explained{}} },
		func(v *pageView) { v.Explained.Error = "" },
		func(v *pageView) { v.Explained.Error, v.Explained.Request.PathTooLarge = "", false },
		func(v *pageView) { v.Explained.Error, v.Explained.Answer.Allowed, v.Explained.Rules = "", false, nil },
		func(v *pageView) {
			v.Explained.Error, v.Explained.Groups[0].Matched, v.Explained.Groups[1].Unknown = "", false, false
		},
		func(v *pageView) { v.Limited = list[ruleRow]{} },
		func(v *pageView) { v.Open, v.Total = 0, rates{} },
		func(v *pageView) { v.Open, v.Limited.All, v.Total = 1, 1, rates{Pass: 1} },
		func(v *pageView) { v.Limited, v.Total = list[ruleRow]{}, rates{} },
		func(v *pageView) { v.Status.Rules.Count, v.Total = 0, rates{} },
		func(v *pageView) { v.Status.Rules.Revision, v.Status.Stopping = "", false },
		func(v *pageView) { v.Status.Ready, v.Status.Stopping, v.Status.Memory.Resident = false, false, 0 },
		func(v *pageView) { v.Rules.Rows, v.Resources.Rows, v.Idle, v.Chart = nil, nil, nil, nil },
		func(v *pageView) { v.Rules.Rows, v.Query.Find = nil, "" },
		func(v *pageView) {
			v.Resources.Rows[0].NoReports, v.Resources.Rows[0].Other, v.Hot[0].Values = false, false, nil
		},
		func(v *pageView) {
			v.Limited.Rows[0].Breaker.State, v.Rules.Rows[0].Breaker.State = "open", "half_open"
		},
		func(v *pageView) {
			v.Rules.Rows[0].Refused, v.Rules.Rows[0].Shadow, v.Rules.Rows[0].Resource = 0, false, ""
		},
	} {
		var v pageView
		fill(reflect.ValueOf(&v).Elem())
		v.MoreIdle = 1
		v.Limited.All, v.Resources.All, v.Rules.All, v.Shadow.All = 9, 9, 9, 9
		change(&v)
		var b strings.Builder
		if err := p.templates.ExecuteTemplate(&b, "page.html", &v); err != nil {
			t.Error(err)
		}
		if strings.Contains(b.String(), "ZgotmplZ") || strings.Contains(b.String(), "%!") || !strings.Contains(b.String(), "</html>") {
			t.Error(b.String())
		}
	}
}

// What is served is told by type, may do no more than its policy says, and is read only.
func TestPageIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop, nil)
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/assets/page.css": "text/css; charset=utf-8", "/assets/page.js": "text/javascript; charset=utf-8",
		"/assets/morph.js": "text/javascript; charset=utf-8", "/assets/icon.svg": "image/svg+xml; charset=utf-8",
	} {
		got := w.request("GET", path, "")
		if got.Code != http.StatusOK || got.Header().Get("Content-Type") != kind || got.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got %d %v", path, got.Code, got.Header())
		}
		policy := got.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("%s: the policy is %s", path, policy)
		}
		if got := w.request("POST", path, ""); got.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: got %d", path, got.Code)
		}
		if got := w.request("GET", path, "", "Host", "evil.example"); got.Code != http.StatusMisdirectedRequest {
			t.Errorf("%s for another host: got %d", path, got.Code)
		}
	}
	for _, path := range []string{"/assets/", "/assets/page.html", "/assets/none.js", "/assets/../admin.go", "/assets/%2e%2e/admin.go", "/index.html", "/assets/.css"} {
		if got := w.request("GET", path, ""); got.Code == http.StatusOK {
			t.Errorf("%s is served", path)
		}
	}
	if text := w.request("GET", "/", "").Body.String(); regexp.MustCompile(`(?i)<(script|style)>|\s(on\w+|style)=|//[a-z]`).MatchString(text) {
		t.Errorf("something is inline, or of others: %s", text)
	}
}
