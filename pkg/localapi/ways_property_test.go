package localapi

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	sidecardv1 "github.com/sidecard/sidecard/api/sidecard/v1"
)

// What is asked over HTTP and over gRPC is decided alike, step by step, whatever it is.
func TestWaysInAgree(t *testing.T) {
	t.Parallel()
	text := rapid.SampledFrom([]string{"", "orders", "users", "at-once", "fragile", "admin", "nobody", "shop", "/admin/1", "bob", "é\x00\"\\"})
	key := rapid.SampledFrom([]string{"path", "header.x-user-id", "user", "x-user-id", "route", "haeder.x", "query.", "arg.0"})
	rapid.Check(t, func(rt *rapid.T) {
		byHTTP, byGRPC := newWorld(t), newWorld(t)
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			q := &sidecardv1.Query{
				Domain: text.Draw(rt, "domain"), Resource: text.Draw(rt, "resource"),
				Attributes: rapid.MapOfN(key, text, 0, 2).Draw(rt, "attributes"),
				Args:       rapid.SliceOfN(text, 0, 2).Draw(rt, "args"),
				Hits:       rapid.Ptr(rapid.Int64Range(-1, 4), true).Draw(rt, "hits"),
				MaxWaitMs:  rapid.Ptr(rapid.Int64Range(-1, 2000), true).Draw(rt, "maxWaitMs"),
				Peek:       rapid.Bool().Draw(rt, "peek"),
				TellWait:   true, // nobody turns the clock meanwhile
			}
			fields := map[string]any{
				"domain": q.Domain, "resource": q.Resource, "attributes": q.Attributes, "args": q.Args, "peek": q.Peek, "tellWait": true,
			}
			if q.Hits != nil {
				fields["hits"] = *q.Hits
			}
			if q.MaxWaitMs != nil {
				fields["maxWaitMs"] = *q.MaxWaitMs
			}
			body, err := json.Marshal(fields)
			if err != nil {
				rt.Fatal(err)
			}
			a := byHTTP.post(t, "/v1/decide", string(body))
			d, err := grpcService{s: byGRPC.svc}.Decide(t.Context(), q)
			if (a.status == 200) != (err == nil) {
				rt.Fatalf("%s: over HTTP %v, over gRPC %v, %v", body, a, d, err)
			}
			if err == nil {
				want, err := json.Marshal(decisionJSON(d))
				if err != nil || a.body != string(want) {
					rt.Fatalf("%s: over HTTP %s, over gRPC %s, %v", body, a.body, want, err)
				}
			}
			step := rapid.Int64Range(0, int64(20*time.Second)).Draw(rt, "step")
			byHTTP.now.Add(step)
			byGRPC.now.Add(step)
		}
	})
}
