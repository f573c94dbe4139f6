package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const perUser = "gatewayFlowRules:\n- {id: per-user, resource: orders, count: 2, paramItem: {parseStrategy: header, fieldName: x-user-id}}\n"

func TestTop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, perUser, nil)
	w.ask(7, "resource", "orders", "header.x-user-id", "before anybody looked")
	var got Top
	w.get("/api/v1/top?rule=per-user", &got)
	if got.Param != "header x-user-id" || got.Observed != 0 || len(got.Values) != 0 || got.OneIn != 1 {
		t.Errorf("at first: got %s", jsonOf(got))
	}
	w.now += 1e9
	w.ask(6, "resource", "orders", "header.x-user-id", "bob")
	w.ask(3, "resource", "orders", "header.x-user-id", "ann")
	w.ask(1, "resource", "orders", "header.x-user-id", "")
	w.ask(5, "resource", "orders")
	w.get("/api/v1/top?rule=per-user&limit=2", &got)
	want := []Value{{Value: "bob", Bytes: 3, Count: 6, AtLeast: 6, Share: 0.6}, {Value: "ann", Bytes: 3, Count: 3, AtLeast: 3, Share: 0.3}}
	if got.Observed != 10 || jsonOf(got.Values) != jsonOf(want) || !got.Since.Equal(at(start)) {
		t.Errorf("got %s", jsonOf(got))
	}
	// What is old is forgotten, and a reload of the rule is not.
	w.now += 40e9
	w.load(strings.Replace(perUser, "count: 2", "count: 3", 1))
	w.ask(2, "resource", "orders", "header.x-user-id", "eve")
	if w.get("/api/v1/top?rule=per-user", &got); len(got.Values) != 4 || got.Observed != 12 {
		t.Errorf("after 40 s: got %s", jsonOf(got))
	}
	w.now += 40e9
	if w.get("/api/v1/top?rule=per-user", &got); len(got.Values) != 1 || got.Values[0].Value != "eve" || got.Observed != 2 {
		t.Errorf("after 80 s: got %s", jsonOf(got))
	}
	w.now += 300e9
	if w.get("/api/v1/top?rule=per-user", &got); len(got.Values) != 0 {
		t.Errorf("after 380 s: got %s", jsonOf(got))
	}
	// Values of one parameter are not shown as those of another.
	w.ask(2, "resource", "orders", "header.x-user-id", "eve")
	before := w.engine.Rules()[0].Rule
	w.load(strings.Replace(perUser, "x-user-id", "x-tenant", 1))
	if w.get("/api/v1/top?rule=per-user", &got); len(got.Values) != 0 || got.Param != "header x-tenant" {
		t.Errorf("of another parameter: got %s", jsonOf(got))
	}
	if left, _, _ := before.SampleValues(nil); len(left) != 0 {
		t.Errorf("of the parameter before %d values are still collected", len(left))
	}
}

func TestValuesAreCutAndEscaped(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]Value{
		"plain-Value_1":               {Value: "plain-Value_1", Bytes: 13},
		"":                            {Value: "", Bytes: 0},
		"<script>\x1b[31m\"\\\r\n":    {Value: `<script>\x1b[31m\"\\\r\n`, Bytes: 17},
		"\xff\u202egnp.exe\u200b":     {Value: `\xff\u202egnp.exe\u200b`, Bytes: 14},
		"käse":                        {Value: "käse", Bytes: 5},
		strings.Repeat("x", 64):       {Value: strings.Repeat("x", 64), Bytes: 64},
		strings.Repeat("x", 65):       {Value: strings.Repeat("x", 64), Bytes: 65, Truncated: true},
		strings.Repeat("x", 63) + "ä": {Value: strings.Repeat("x", 63), Bytes: 65, Truncated: true},
		strings.Repeat("x", 62) + "€": {Value: strings.Repeat("x", 62), Bytes: 65, Truncated: true},
		strings.Repeat("\x80", 70):    {Value: strings.Repeat(`\x80`, 64), Bytes: 70, Truncated: true},
	} {
		w := newWorld(t, perUser, nil)
		var got Top
		w.get("/api/v1/top?rule=per-user", &got)
		w.ask(1, "resource", "orders", "header.x-user-id", value)
		body := w.request("GET", "/api/v1/top?rule=per-user", "").Body.String()
		if err := json.Unmarshal([]byte(body), &got); err != nil || strings.ContainsAny(strings.TrimSuffix(body, "\n"), "<>\x1b\r\n") {
			t.Errorf("%q: the answer is %q, %v", value, body, err)
		}
		want.Count, want.AtLeast, want.Share = 1, 1, 1
		if len(got.Values) != 1 || got.Values[0] != want {
			t.Errorf("%q: got %s, want %s", value, jsonOf(got.Values), jsonOf(want))
		}
	}
}

func TestLooksAreBounded(t *testing.T) {
	t.Parallel()
	var rules strings.Builder
	rules.WriteString("gatewayFlowRules:\n")
	for i := range maxLooks + 1 {
		fmt.Fprintf(&rules, "- {id: r%d, resource: orders, count: 2, paramItem: {parseStrategy: client_ip}}\n", i)
	}
	w := newWorld(t, rules.String(), nil)
	var got Top
	for i := range maxLooks {
		w.get(fmt.Sprint("/api/v1/top?rule=r", i), &got)
	}
	one := fmt.Sprint("/api/v1/top?rule=r", maxLooks)
	if got := w.request("GET", one, ""); got.Code != http.StatusServiceUnavailable {
		t.Errorf("one more: got %d", got.Code)
	}
	w.now += int64(valuePatience) + 1
	if w.server.values.gather(w.now) {
		t.Error("what nobody asks for is collected")
	}
	w.get(one, &got)
}

// Values are read while somebody looks, and no longer.
func TestRunCollectsForThoseWhoLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, perUser, func(c *Config) { c.Now = func() int64 { return time.Now().UnixNano() } })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); w.server.Run(ctx) }()
		rounds := func(n int) {
			for range n { // more than find room between two readings
				w.now = time.Now().UnixNano()
				w.ask(40, "resource", "orders", "header.x-user-id", "bob")
				time.Sleep(gatherValues)
			}
		}
		var got Top
		w.get("/api/v1/top?rule=per-user", &got)
		rounds(10)
		if w.get("/api/v1/top?rule=per-user", &got); got.Observed != 400 || got.Dropped != 0 {
			t.Errorf("got %s", jsonOf(got))
		}
		rounds(int(valuePatience/gatherValues) + 10)
		looks := func() int {
			w.server.values.mu.Lock()
			defer w.server.values.mu.Unlock()
			return len(w.server.values.looks)
		}
		if n := looks(); n != 0 {
			t.Errorf("long after: %d looks", n)
		}
		if got, _, _ := w.engine.Rules()[0].Rule.SampleValues(nil); len(got) != 0 {
			t.Errorf("long after: %d values have been taken", len(got))
		}
		w.get("/api/v1/top?rule=per-user", &got)
		synctest.Wait()
		rounds(2)
		cancel()
		<-ended
		if looks() != 0 {
			t.Error("values are collected after the end")
		}
	})
}
