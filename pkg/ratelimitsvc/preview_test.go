package ratelimitsvc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// envoyAnswer is what Envoy 1.40 makes of an answer with one status, by its documentation and as test/e2e sees it.
func envoyAnswer(m *rls.RateLimitResponse) (headers []string, body string) {
	s := m.GetStatuses()[0]
	if l := s.GetCurrentLimit(); l != nil {
		seconds := map[rls.RateLimitResponse_RateLimit_Unit]int64{1: 1, 2: 60, 3: 3600, 4: 86400}[l.GetUnit()]
		if l.GetUnitMultiplier() != nil {
			seconds *= int64(l.GetUnitMultiplier().GetValue())
		}
		policy := ""
		if seconds > 0 {
			policy = fmt.Sprintf(", %d;w=%d;name=\"%s\"", l.GetRequestsPerUnit(), seconds, l.GetName())
		}
		headers = append(headers,
			fmt.Sprintf("x-ratelimit-limit: %d%s", l.GetRequestsPerUnit(), policy),
			fmt.Sprintf("x-ratelimit-remaining: %d", s.GetLimitRemaining()),
			fmt.Sprintf("x-ratelimit-reset: %d", s.GetDurationUntilReset().GetSeconds()))
	}
	if m.GetOverallCode() != rls.RateLimitResponse_OVER_LIMIT {
		return headers, ""
	}
	headers = append(headers, "x-envoy-ratelimited: true", fmt.Sprintf("retry-after: %d", max(s.GetDurationUntilReset().GetSeconds(), 1)))
	for _, h := range m.GetResponseHeadersToAdd() {
		headers = append(headers, h.GetKey()+": "+h.GetValue())
	}
	return headers, string(m.GetRawBody())
}

// What is foretold is what Envoy makes of the bytes that are sent.
func TestPreviewAgainstTheWire(t *testing.T) {
	t.Parallel()
	responses := []*rule.BlockResponse{nil,
		{ContentType: "application/json", Body: `{"r": "{rule}", "after": {retry_after}}`},
		{Headers: []rule.HeaderField{{Name: "x-rule", Value: " {rule} "}, {Name: "x-after", Value: "{retry_after}"}}},
		{ContentType: "text/html", Body: "<{resource}> {reason}"},
	}
	rapid.Check(t, func(t *rapid.T) {
		v := engine.Verdict{Matched: true, Code: rapid.SampledFrom([]engine.Code{engine.Pass, engine.Block}).Draw(t, "code")}
		v.Reset = rapid.SampledFrom([]time.Duration{0, 1, time.Second, 1500 * time.Millisecond, time.Hour}).Draw(t, "reset")
		fallback := rapid.SampledFrom(responses).Draw(t, "fallback")
		if v.Code == engine.Block || rapid.Bool().Draw(t, "rule") {
			v.Rule = &engine.CompiledRule{
				ID: rapid.SampledFrom([]string{"orders", "a/b;c"}).Draw(t, "id"), Resource: `<"r">`,
				Interval: rapid.SampledFrom([]time.Duration{0, time.Second, 7 * time.Second, time.Minute, 36 * time.Hour}).Draw(t, "interval"),
				Breaker:  v.Code == engine.Block && rapid.IntRange(0, 5).Draw(t, "breaker") == 0,
				Response: rapid.SampledFrom(responses).Draw(t, "response"),
			}
			v.Unlimited = v.Code == engine.Block && rapid.IntRange(0, 5).Draw(t, "unlimited") == 0
			if v.Unlimited { // nothing that it uses up comes back
				v.Reset = 0
			}
			v.Limit = rapid.Int64Range(0, 1<<33).Draw(t, "limit")
		}
		if v.Code == engine.Pass {
			v.Remaining = rapid.Int64Range(0, 1<<33).Draw(t, "remaining")
		} else {
			v.Reason = engine.ReasonLimit
		}
		c := engine.Call{Verdicts: []engine.Verdict{v}, Overall: v.Code}
		answers := newAnswers(engine.New(engine.Options{}), fallback)
		wire := appendResponse(nil, &c, []int32{0}, deciding(c.Verdicts), answers.to(deciding(c.Verdicts)))
		headers, body := envoyAnswer(decodeResponse(t, wire))

		p := NewPreview(&v, fallback)
		var got []string
		for _, h := range p.Headers {
			got = append(got, h.Name+": "+h.Value)
		}
		if !slices.Equal(got, headers) || p.Body != body || (p.Status == 429) != (v.Code == engine.Block) {
			t.Fatalf("got\n%s\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), p.Body, strings.Join(headers, "\n"), body)
		}
	})
}
