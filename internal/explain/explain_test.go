package explain

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const rules = `
gatewayFlowRules:
- {id: orders, resource: orders, count: 5}
- {id: user, resource: orders, count: 3, paramItem: {parseStrategy: header, fieldName: x-user}}
- {id: vip, resource: orders, count: 3, paramItem: {parseStrategy: header, fieldName: x-user, pattern: vip, matchStrategy: prefix}}
- {id: session, resource: orders, count: 9, onMissing: limit, paramItem: {parseStrategy: cookie, fieldName: s}}
- {id: sku, resource: orders, count: 9, paramItem: {parseStrategy: url_param, fieldName: sku}}
- {id: dark, resource: orders, count: 0, shadow: true}
- {id: writes, resource: writes, resourceMode: api, count: 1}
- {id: deep, resource: deep, resourceMode: api, count: 9}
- {id: far, resource: far, resourceMode: api, count: 1}
- {id: queue, resource: queue, count: 10, controlBehavior: queue, maxQueueingTimeoutMs: 400}
- {id: huge, resource: queue, count: 3000000000}
apiDefinitions:
- {apiName: writes, predicateItems: [{pattern: /orders/**, matchStrategy: prefix, methods: [POST, PUT]}]}
- {apiName: deep, predicateItems: [{pattern: "/.*/x", matchStrategy: regex, host: "*.example.com", methods: [GET]}, {pattern: /orders/7}]}
- {apiName: far, predicateItems: [{pattern: /far}]}
flowRules:
- {id: warm, resource: paid, count: 10, controlBehavior: warm_up, warmUpPeriodSec: 10}
- {id: shop, resource: queue, count: 1, limitApp: shop}
- {id: after, resource: queue, count: 7, strategy: relate, refResource: paid}
authorityRules:
- {id: payers, resource: paid, limitApp: "shop,office"}
systemRules:
- {id: all, qps: 50}
degradeRules:
- {id: failing, resource: queue, grade: error_count, count: 1, timeWindow: 1}
`

const epoch = int64(1_800_000_000e9)

func newEngine(t *testing.T) *engine.Engine {
	t.Helper()
	set, problems := rule.Load([]rule.File{{Name: "rules.yaml", Data: []byte(rules)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	e := engine.New(engine.Options{})
	if _, err := e.Apply(epoch, set); err != nil {
		t.Fatal(err)
	}
	return e
}

func envoy(v *engine.Verdict) Envoy {
	if v.Code == engine.Pass {
		return Envoy{Headers: []Header{}}
	}
	return Envoy{Status: 429, Headers: []Header{{"x-rule", v.Rule.ID}}, Body: "no"}
}

func attributes(pairs ...string) []Attribute {
	var out []Attribute
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Attribute{pairs[i], pairs[i+1]})
	}
	return out
}

// Each question is asked after one request of two hits has passed that is like it.
func TestViews(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]Question{
		"order": {Domain: "shop", Hits: 2, Attributes: attributes("resource", "orders", "path", "/a/../orders/7?x=a%20b&y", "method", "get", ":authority", "Shop.Example.com:80",
			"header.X-User", "bob", "cookie", "theme=dark", "lang", "\tde\n", "remote_address", "10.0.0.1")},
		"queue": {Domain: "shop", Hits: 2, Attributes: attributes("resource", "queue", "origin", "office")},
		"paid":  {Domain: "shop", Attributes: attributes("resource", "paid", "origin", "stranger")},
		"none":  {Domain: "shop", Attributes: attributes("path", "/\x1b[1m")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			Of(e, epoch, ask, Options{Envoy: envoy, Charge: true})
			v := Of(e, epoch, ask, Options{Envoy: envoy})
			if again := Of(e, epoch, ask, Options{Envoy: envoy}); mustJSON(t, v) != mustJSON(t, again) {
				t.Error("explaining has changed something")
			}
			var text strings.Builder
			if err := v.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", text.String())
			v.Revision = "some"
			golden(t, name+".json", mustJSON(t, v))
		})
	}
}

func mustJSON(t *testing.T, v View) string {
	t.Helper()
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// What is foretold without charging is what the charge is answered, but for the reset.
func TestForetoldIsWhatComes(t *testing.T) {
	t.Parallel()
	for _, resource := range []string{"orders", "queue", "other"} {
		ask := Question{Attributes: attributes("resource", resource, "header.x-user", "bob")}
		e := newEngine(t)
		for n := range 8 {
			now := epoch + int64(n)
			foretold := Of(e, now, ask, Options{Envoy: envoy})
			made := Of(e, now, ask, Options{Envoy: envoy, Charge: true})
			if resource == "queue" { // whose place says more than what remains of it
				foretold.Answer.Remaining, made.Answer.Remaining = nil, nil
			}
			if mustJSON(t, foretold) != mustJSON(t, made) {
				t.Errorf("request %d of %s: got\n%s\nwant\n%s", n, resource, mustJSON(t, foretold), mustJSON(t, made))
			}
		}
	}
}
