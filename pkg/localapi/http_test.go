package localapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	type ask struct{ target, body, want string }
	for name, asks := range map[string][]ask{
		"until the limit": {
			{"/v1/decide", `{"resource": "orders"}`, `200 {"allowed":true,"code":"pass","rule":"orders","limit":3,"remaining":2}`},
			{"/v1/decide", `{"resource": "orders", "hits": 2}`, `200 {"allowed":true,"code":"pass","rule":"orders","limit":3,"remaining":0}`},
			{"/v1/decide", `{"resource": "orders"}`, `200 {"allowed":false,"code":"block","rule":"orders","reason":"limit","limit":3,"remaining":0,"retryAfterMs":60000}`},
			{"/v1/decide?status=http", `{"resource": "orders"}`, `429 retry 60 {"allowed":false,"code":"block","rule":"orders","reason":"limit","limit":3,"remaining":0,"retryAfterMs":60000}`},
		},
		"a look is of its hits, and takes nothing": {
			{"/v1/decide", `{"resource": "orders", "peek": true, "hits": 4}`, `200 {"allowed":false,"code":"block","rule":"orders","reason":"limit","limit":3,"remaining":0}`},
			{"/v1/decide", `{"resource": "orders", "peek": true, "hits": 3}`, `200 {"allowed":true,"code":"pass","rule":"orders","limit":3,"remaining":3}`},
			{"/v1/decide", `{"resource": "orders", "peek": true}`, `200 {"allowed":true,"code":"pass","rule":"orders","limit":3,"remaining":3}`},
		},
		"by attributes, as Envoy sends them": {
			{"/v1/decide", `{"resource": "users", "attributes": {"header.X-User-Id": "bob"}}`, `200 {"allowed":true,"code":"pass","rule":"users","limit":2,"remaining":1}`},
			{"/v1/decide", `{"attributes": {"x-user-id": " bob ", "route": "users"}, "hits": 2}`, `200 {"allowed":false,"code":"block","rule":"users","reason":"limit","limit":2,"remaining":0,"retryAfterMs":60000}`},
			{"/v1/decide", `{"domain": "shop", "resource": "users", "attributes": {"user": "bob"}}`, `200 {"allowed":true,"code":"pass","rule":"users","limit":2,"remaining":0}`},
			{"/v1/decide", `{"resource": "users", "attributes": {"header.x-user-id": "eve", "header.x-user-id": "bob"}}`, `200 {"allowed":true,"code":"pass","rule":"users","limit":2,"remaining":1}`},
			{"/v1/decide", `{"attributes": {"path": "/a/../admin/%37?x=y"}}`, `200 {"allowed":true,"code":"pass","rule":"admin","limit":1,"remaining":0}`},
			{"/v1/decide?status=http", `{"attributes": {"path": "/admin/7"}}`, `429 retry 60 {"allowed":false,"code":"block","rule":"admin","reason":"limit","limit":1,"remaining":0,"retryAfterMs":60000}`},
		},
		"no rule, no limit, shadow": {
			{"/v1/decide", `{"resource": "nobody", "domain": ""}`, `200 {"allowed":true,"code":"pass"}`},
			{"/v1/decide", `{}`, `200 {"allowed":true,"code":"pass"}`},
			{"/v1/decide", `{"resource": "big"}`, `200 {"allowed":true,"code":"pass"}`},
			{"/v1/decide", `{"resource": "dark"}`, `200 {"allowed":true,"code":"pass","shadowRule":"dark"}`},
			{"/v1/decide?status=http", `{"resource": "closed"}`, `429 {"allowed":false,"code":"block","rule":"closed","reason":"limit","limit":0,"remaining":0}`},
		},
		"told to wait": {
			{"/v1/decide", `{"resource": "queue", "tellWait": true}`, `200 {"allowed":true,"code":"pass","rule":"queue","limit":2,"remaining":2}`},
			{"/v1/decide", `{"resource": "queue", "tellWait": true, "maxWaitMs": 499}`, `200 {"allowed":false,"code":"block","rule":"queue","reason":"deadline","limit":2,"remaining":0,"retryAfterMs":1}`},
			{"/v1/decide", `{"resource": "queue", "tellWait": true, "maxWaitMs": 500}`, `200 {"allowed":true,"code":"wait","rule":"queue","limit":2,"remaining":0,"waitMs":500}`},
			{"/v1/decide", `{"resource": "queue", "peek": true}`, `200 {"allowed":true,"code":"wait","rule":"queue","limit":2,"remaining":2,"waitMs":1000}`},
			{"/v1/decide", `{"resource": "queue", "tellWait": true}`, `200 {"allowed":true,"code":"wait","rule":"queue","limit":2,"remaining":2,"waitMs":1000}`},
		},
		"whoever waits as long as he is told has waited long enough": {
			{"/v1/decide", `{"resource": "thirds", "tellWait": true}`, `200 {"allowed":true,"code":"pass","rule":"thirds","limit":3,"remaining":1}`},
			{"/v1/decide", `{"resource": "thirds", "tellWait": true}`, `200 {"allowed":true,"code":"wait","rule":"thirds","limit":3,"remaining":0,"waitMs":334}`},
			{"/v1/decide", `{"resource": "thirds", "tellWait": true}`, `200 {"allowed":false,"code":"block","rule":"thirds","reason":"limit","limit":3,"remaining":0,"retryAfterMs":267}`},
		},
		"refused for another reason than the limit": {
			{"/v1/decide", `{"resource": "named", "attributes": {"x": "y"}}`, `200 {"allowed":true,"code":"pass"}`},
			{"/v1/decide", `{"resource": "named"}`, `200 {"allowed":false,"code":"block","rule":"named","reason":"missing-param"}`},
		},
		"decide leaves nothing under way": {
			{"/v1/decide", `{"resource": "at-once", "hits": 2}`, `200 {"allowed":true,"code":"pass","rule":"at-once","limit":2,"remaining":0}`},
			{"/v1/decide", `{"resource": "at-once", "hits": 2}`, `200 {"allowed":true,"code":"pass","rule":"at-once","limit":2,"remaining":0}`},
			{"/v1/decide", `{"resource": "at-once", "hits": 3}`, `200 {"allowed":false,"code":"block","rule":"at-once","reason":"limit","limit":2,"remaining":0}`},
		},
		"one batch, each by itself": {
			{"/v1/batch", `{"items": [{"resource": "orders", "hits": 2}, {"resource": "orders", "hits": 2}, {"resource": "orders"}]}`,
				`200 {"allowed":false,"items":[{"allowed":true,"code":"pass","rule":"orders","limit":3,"remaining":1},{"allowed":false,"code":"block","rule":"orders","reason":"limit","limit":3,"remaining":0,"retryAfterMs":60000},{"allowed":true,"code":"pass","rule":"orders","limit":3,"remaining":0}]}`},
			{"/v1/batch?status=http", `{"items": [{"resource": "orders"}, {"resource": "nobody"}]}`,
				`429 retry 60 {"allowed":false,"items":[{"allowed":false,"code":"block","rule":"orders","reason":"limit","limit":3,"remaining":0,"retryAfterMs":60000},{"allowed":true,"code":"pass"}]}`},
			{"/v1/batch?status=http", `{"items": [{"resource": "orders"}, {"resource": "closed"}]}`,
				`429 {"allowed":false,"items":[{"allowed":false,"code":"block","rule":"orders","reason":"limit","limit":3,"remaining":0,"retryAfterMs":60000},{"allowed":false,"code":"block","rule":"closed","reason":"limit","limit":0,"remaining":0}]}`},
		},
		"one batch, all or nothing": {
			{"/v1/batch", `{"atomic": true, "items": [{"resource": "orders", "hits": 2}, {"resource": "closed"}]}`,
				`200 {"allowed":false,"items":[{"allowed":false,"code":"pass","rule":"orders","limit":3,"remaining":3},{"allowed":false,"code":"block","rule":"closed","reason":"limit","limit":0,"remaining":0}]}`},
			{"/v1/batch", `{"atomic": true, "items": [{"resource": "orders", "hits": 2}, {"resource": "orders", "hits": 2}]}`,
				`200 {"allowed":false,"items":[{"allowed":false,"code":"pass","rule":"orders","limit":3,"remaining":3},{"allowed":false,"code":"block","rule":"orders","reason":"limit","limit":3,"remaining":0}]}`},
			{"/v1/batch", `{"atomic": true, "items": [{"resource": "orders", "hits": 2}, {"resource": "orders"}]}`,
				`200 {"allowed":true,"items":[{"allowed":true,"code":"pass","rule":"orders","limit":3,"remaining":1},{"allowed":true,"code":"pass","rule":"orders","limit":3,"remaining":0}]}`},
		},
		"waits of a batch": {
			{"/v1/batch", `{"items": [{"resource": "queue"}, {"resource": "queue"}, {"resource": "queue", "maxWaitMs": 0}]}`,
				`200 {"allowed":false,"items":[{"allowed":true,"code":"pass","rule":"queue","limit":2,"remaining":2},{"allowed":true,"code":"wait","rule":"queue","limit":2,"remaining":2,"waitMs":500},{"allowed":false,"code":"block","rule":"queue","reason":"deadline","limit":2,"remaining":0,"retryAfterMs":1000}]}`},
			{"/v1/batch", `{"atomic": true, "items": [{"resource": "orders"}, {"resource": "queue"}]}`,
				`200 {"allowed":true,"items":[{"allowed":true,"code":"wait","rule":"orders","limit":3,"remaining":2,"waitMs":1000},{"allowed":true,"code":"wait","rule":"queue","limit":2,"remaining":2,"waitMs":1000}]}`},
			{"/v1/batch", `{"atomic": true, "items": [{"resource": "orders", "maxWaitMs": 100}, {"resource": "queue"}]}`,
				`200 {"allowed":false,"items":[{"allowed":false,"code":"pass","rule":"orders","limit":3,"remaining":2},{"allowed":false,"code":"block","rule":"queue","reason":"deadline","limit":2,"remaining":0,"retryAfterMs":1400}]}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, a := range asks {
				if got := w.post(t, a.target, a.body).String(); got != a.want {
					t.Errorf("%s %s\n got %s\nwant %s", a.target, a.body, got, a.want)
				}
			}
			if n := w.inFlight("at-once"); n != 0 {
				t.Errorf("%d calls are under way", n)
			}
		})
	}
}

// String writes an answer as "429 retry 2 {...}".
func (a answer) String() string {
	retry := ""
	if after := a.header.Get("Retry-After"); after != "" {
		retry = " retry " + after
	}
	return fmt.Sprintf("%d%s %s", a.status, retry, a.body)
}

func TestAcquireAndComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := func(body string) string {
		t.Helper()
		got := w.post(t, "/v1/acquire", body)
		_, rest, ok := strings.Cut(got.body, `"token":"`)
		if got.status != http.StatusOK || !ok {
			t.Fatalf("got %v", got)
		}
		return rest[:32]
	}
	first, second := token(`{"resource": "at-once"}`), token(`{"resource": "at-once"}`)
	if got := w.post(t, "/v1/acquire?status=http", `{"resource": "at-once"}`).String(); got != `429 {"allowed":false,"code":"block","rule":"at-once","reason":"limit","limit":2,"remaining":0}` {
		t.Errorf("a third: got %s", got)
	}
	conflict := `409 {"error":"` + errNoCall.Error() + `","field":"token"}`
	for _, step := range []struct{ body, want string }{
		{`{"token": "` + first + `", "error": true, "rtMs": 12}`, "200 {}"},
		{`{"token": "` + first + `"}`, conflict},
		{`{"token": "made up"}`, conflict},
		{`{"token": "` + strings.Repeat("0", 32) + `"}`, conflict},
		{`{"token": "` + second + `", "aborted": true}`, "200 {}"},
	} {
		if got := w.post(t, "/v1/complete", step.body).String(); got != step.want {
			t.Errorf("%s: got %s, want %s", step.body, got, step.want)
		}
	}
	if n := w.inFlight("at-once"); n != 0 {
		t.Errorf("%d calls are under way", n)
	}
	if s := w.engine.Tokens(); s.Completed.Load() != 2 || s.Foreign.Load() != 3 {
		t.Errorf("%d completed, %d foreign, want 2 and 3", s.Completed.Load(), s.Foreign.Load())
	}

	// A call that no rule counts has nothing to complete. One that is not reported lives as long as its lease.
	if got := w.post(t, "/v1/acquire", `{"resource": "orders"}`).String(); got != `200 {"allowed":true,"code":"pass","rule":"orders","limit":3,"remaining":2}` {
		t.Errorf("got %s", got)
	}
	late := token(`{"resource": "at-once"}`)
	w.now.Add(int64(62 * time.Second))
	w.engine.Expire(w.now.Load())
	if got := w.post(t, "/v1/complete", `{"token": "`+late+`"}`).String(); got != conflict || w.inFlight("at-once") != 0 {
		t.Errorf("after the lease: got %s, %d under way", got, w.inFlight("at-once"))
	}
}

// The time that is told counts, nothing at all too; what is left out is measured.
func TestTimesThatAreTold(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]time.Duration{``: 2 * time.Second, `, "rtMs": 0`: 1, `, "rtMs": 700`: 700 * time.Millisecond} {
		w := newWorld(t)
		_, rest, _ := strings.Cut(w.post(t, "/v1/acquire", `{"resource": "at-once"}`).body, `"token":"`)
		now := w.now.Add(int64(2 * time.Second))
		if got := w.post(t, "/v1/complete", `{"token": "`+rest[:32]+`"`+field+`}`).String(); got != "200 {}" {
			t.Fatal(got)
		}
		r, _ := w.engine.Resource(now, "", rule.ModeRoute, "at-once")
		if r.Last.Success != 1 || r.Last.RT != want {
			t.Errorf("%q: %d calls took %v, want one of %v", field, r.Last.Success, r.Last.RT, want)
		}
	}
}

// Where all calls are to be tracked, those that are begun have a token although no rule waits for their end.
func TestTrackAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.svc.cfg.TrackAll = true
	for target, want := range map[string]bool{"/v1/acquire": true, "/v1/decide": false} {
		got := w.post(t, target, `{"resource": "orders"}`).body
		if _, rest, has := strings.Cut(got, `"token":"`); has != want {
			t.Errorf("%s: got %s", target, got)
		} else if has && w.post(t, "/v1/complete", `{"token": "`+rest[:32]+`"}`).status != http.StatusOK {
			t.Errorf("the token of %s completes nothing", got)
		}
	}
	if s := w.engine.Tokens(); s.Live != 0 || s.Completed.Load() != 1 {
		t.Errorf("%d calls are under way, %d completed, want none and 1", s.Live, s.Completed.Load())
	}
}

// deaf is a connection whose other side has gone.
type deaf struct{ *recorder }

func (deaf) FlushError() error { return errors.New("broken pipe") }

// A call is not left under way if nobody can be told its token.
func TestAnswersThatNobodyGets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/acquire", strings.NewReader(`{"resource": "at-once"}`))
		if err != nil {
			t.Fatal(err)
		}
		rec := &recorder{answer: answer{header: make(http.Header)}}
		w.handler.ServeHTTP(deaf{rec}, req)
		if text := rec.text.String(); !strings.Contains(text, `"token":"`) || w.inFlight("at-once") != 0 {
			t.Errorf("%d calls are under way after %s", w.inFlight("at-once"), text)
		}
	}
	if s := w.engine.Tokens(); s.Withdrawn.Load() != 3 || s.Completed.Load() != 0 {
		t.Errorf("%d withdrawn, %d completed, want 3 and none", s.Withdrawn.Load(), s.Completed.Load())
	}
}

// How a call ended reaches the circuit breakers, and decide neither trips nor uses them.
func TestOutcomesReachBreakers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	end := func(how string) {
		t.Helper()
		got := w.post(t, "/v1/acquire", `{"resource": "fragile"}`).body
		_, rest, ok := strings.Cut(got, `"token":"`)
		if !ok {
			t.Fatal(got)
		}
		if got := w.post(t, "/v1/complete", `{"token": "`+rest[:32]+`"`+how+`}`).String(); got != "200 {}" {
			t.Fatal(got)
		}
	}
	end("")
	end(`, "error": true`)
	for range 3 {
		w.post(t, "/v1/decide", `{"resource": "fragile"}`)
	}
	const closed = `200 {"allowed":true,"code":"pass"}`
	const open = `200 {"allowed":false,"code":"block","rule":"fragile","reason":"breaker","retryAfterMs":10000}`
	if got := w.post(t, "/v1/decide", `{"resource": "fragile"}`).String(); got != closed {
		t.Errorf("one error of one that is allowed: got %s", got)
	}
	end(`, "error": true`)
	if got := w.post(t, "/v1/decide", `{"resource": "fragile"}`).String(); got != open {
		t.Errorf("two errors: got %s", got)
	}
	w.now.Add(int64(10 * time.Second))
	for range 2 { // whoever asks and does not begin leaves the probe to others
		if got := w.post(t, "/v1/decide", `{"resource": "fragile"}`).String(); got != closed {
			t.Errorf("half open: got %s", got)
		}
	}
	end("")
}

func TestBeforeTheFirstRules(t *testing.T) {
	t.Parallel()
	w := &world{}
	w.build(func() int64 { return epoch })
	const want = `503 retry 1 {"error":"no rules have been loaded yet"}`
	for target, body := range map[string]string{"/v1/decide": `{}`, "/v1/acquire": `{}`, "/v1/batch": `{"items": [{}]}`} {
		if got := w.post(t, target, body).String(); got != want {
			t.Errorf("%s: got %s, want %s", target, got, want)
		}
	}
}

// Whatever host a client believes to talk to, it is served; a web page of another origin is not.
func TestHosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		host, origin string
		status       int
	}{
		"any":               {host: "anything:80", status: 200},
		"a web page":        {host: "127.0.0.1:9090", origin: "https://evil.example", status: 403},
		"one of this place": {host: "127.0.0.1:9090", origin: "http://127.0.0.1:9090", status: 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/decide", strings.NewReader(`{"resource": "big"}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Host = c.host
			if c.origin != "" {
				req.Header.Set("Origin", c.origin)
			}
			rec := &recorder{answer: answer{header: make(http.Header)}}
			if w.handler.ServeHTTP(rec, req); rec.status != c.status {
				t.Errorf("got %d, want %d", rec.status, c.status)
			}
		})
	}
}
