package ratelimitsvc

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/pkg/engine"
)

var perSecond = &engine.CompiledRule{ID: "orders", Resource: "orders-route", Limit: 100, Interval: time.Second}

// expected builds with the generated types what appendResponse writes by hand.
func expected(c *engine.Call, items []int32, body string) *rls.RateLimitResponse {
	m := &rls.RateLimitResponse{OverallCode: rls.RateLimitResponse_OK}
	fields := map[string]*structpb.Value{}
	var worst, shadow *engine.Verdict
	for _, i := range items {
		s := &rls.RateLimitResponse_DescriptorStatus{Code: rls.RateLimitResponse_OK}
		m.Statuses = append(m.Statuses, s)
		if i < 0 {
			continue
		}
		v := &c.Verdicts[i]
		if v.Code == engine.Block {
			s.Code = rls.RateLimitResponse_OVER_LIMIT
			rank := func(v *engine.Verdict) time.Duration {
				if v.Reset == 0 {
					return math.MaxInt64
				}
				return v.Reset
			}
			if worst == nil || rank(v) > rank(worst) {
				worst = v
			}
		}
		if v.ShadowRule != nil && shadow == nil {
			shadow = v
		}
		if v.Rule == nil || v.Unlimited {
			continue
		}
		unit, multiplier := rls.RateLimitResponse_RateLimit_SECOND, int64(v.Rule.Interval/time.Second)
		for _, u := range []struct {
			unit rls.RateLimitResponse_RateLimit_Unit
			n    int64
		}{{rls.RateLimitResponse_RateLimit_MINUTE, 60}, {rls.RateLimitResponse_RateLimit_HOUR, 60}, {rls.RateLimitResponse_RateLimit_DAY, 24}} {
			if multiplier%u.n != 0 {
				break
			}
			unit, multiplier = u.unit, multiplier/u.n
		}
		s.CurrentLimit = &rls.RateLimitResponse_RateLimit{Name: v.Rule.ID, RequestsPerUnit: uint32(v.Limit), Unit: unit}
		if multiplier > 1 {
			s.CurrentLimit.UnitMultiplier = wrapperspb.UInt32(uint32(multiplier))
		}
		if v.Code == engine.Pass {
			s.LimitRemaining = uint32(min(v.Remaining, math.MaxUint32))
		}
		if v.Reset > 0 {
			s.DurationUntilReset = durationpb.New((v.Reset + time.Second - 1).Truncate(time.Second))
		}
	}
	if c.Overall == engine.Block {
		m.OverallCode = rls.RateLimitResponse_OVER_LIMIT
		m.ResponseHeadersToAdd = []*core.HeaderValue{{Key: "content-type", Value: "application/json"}}
		m.RawBody = []byte(body)
		if worst != nil {
			fields["reason"] = structpb.NewStringValue(worst.Reason.String())
			if worst.Rule != nil {
				fields["rule"] = structpb.NewStringValue(worst.Rule.ID)
				fields["resource"] = structpb.NewStringValue(worst.Rule.Resource)
			}
		}
	}
	if shadow != nil {
		fields["shadow_rule"] = structpb.NewStringValue(shadow.ShadowRule.ID)
	}
	if len(fields) > 0 {
		m.DynamicMetadata = &structpb.Struct{Fields: fields}
	}
	return m
}

func decodeResponse(t interface{ Fatalf(string, ...any) }, b []byte) *rls.RateLimitResponse {
	var m rls.RateLimitResponse
	if err := proto.Unmarshal(b, &m); err != nil {
		t.Fatalf("proto does not take %q: %v", b, err)
	}
	if unknown := m.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		t.Fatalf("unknown fields %q", unknown)
	}
	return &m
}

func TestEncode(t *testing.T) {
	t.Parallel()
	block := func(v engine.Verdict) engine.Verdict { v.Code = engine.Block; return v }
	for _, c := range []struct {
		name  string
		call  engine.Call
		items []int32
		body  string
	}{
		{"nothing", engine.Call{}, nil, ""},
		{"unmatched, empty", engine.Call{Verdicts: make([]engine.Verdict, 1)}, []int32{0, noItem}, ""},
		{"pass", engine.Call{Verdicts: []engine.Verdict{{Rule: perSecond, Limit: 100, Remaining: 99, Reset: 300 * time.Millisecond}}}, []int32{noItem, 0}, ""},
		{"pass, none left", engine.Call{Verdicts: []engine.Verdict{{Rule: perSecond, Limit: 100}}}, []int32{0}, ""},
		{"unlimited", engine.Call{Verdicts: []engine.Verdict{{Unlimited: true, Rule: &engine.CompiledRule{ID: "u", Unlimited: true, Interval: time.Second}, Remaining: math.MaxInt64}}}, []int32{0}, ""},
		{"remaining beyond 32 bits", engine.Call{Verdicts: []engine.Verdict{{Rule: perSecond, Limit: math.MaxInt32, Remaining: 1 << 40}}}, []int32{0}, ""},
		{"shadow", engine.Call{Verdicts: []engine.Verdict{{}, {Rule: perSecond, Limit: 100, ShadowRule: &engine.CompiledRule{ID: "dark"}}}}, []int32{0, 1}, ""},
		{"refused", engine.Call{Overall: engine.Block, Verdicts: []engine.Verdict{
			block(engine.Verdict{Rule: perSecond, Limit: 100, Remaining: 7, Reason: engine.ReasonLimit, Reset: 7*time.Second + 1})}}, []int32{0},
			`{"code":429,"message":"Too many requests","rule":"orders","reason":"limit","retryAfterSeconds":8}`},
		{"refused for exactly a second", engine.Call{Overall: engine.Block, Verdicts: []engine.Verdict{
			block(engine.Verdict{Rule: perSecond, Limit: 100, Reason: engine.ReasonLimit, Reset: time.Second})}}, []int32{0},
			`{"code":429,"message":"Too many requests","rule":"orders","reason":"limit","retryAfterSeconds":1}`},
		{"the longest wait decides, never is longest", engine.Call{Overall: engine.Block, Verdicts: []engine.Verdict{
			{Rule: perSecond, Limit: 100, Remaining: 5},
			block(engine.Verdict{Rule: perSecond, Limit: 100, Reason: engine.ReasonLimit, Reset: time.Hour}),
			block(engine.Verdict{Rule: &engine.CompiledRule{ID: "zero", Interval: 2 * time.Hour}, Reason: engine.ReasonMissingParam}),
			block(engine.Verdict{Rule: perSecond, Limit: 100, Reason: engine.ReasonLimit, Reset: 2 * time.Hour})}}, []int32{3, 2, 1, 0},
			`{"code":429,"message":"Too many requests","rule":"zero","reason":"missing-param"}`},
		{"no rule is named", engine.Call{Overall: engine.Block, Verdicts: []engine.Verdict{block(engine.Verdict{Reason: engine.ReasonInputTooLarge})}}, []int32{0},
			`{"code":429,"message":"Too many requests","reason":"input-too-large"}`},
		{"no refusal is known", engine.Call{Overall: engine.Block}, []int32{noItem}, `{"code":429,"message":"Too many requests"}`},
		{"long id", engine.Call{Overall: engine.Block, Verdicts: []engine.Verdict{
			block(engine.Verdict{Rule: &engine.CompiledRule{ID: strings.Repeat("é", 9000), Resource: strings.Repeat("r", 200), Interval: 60 * time.Second}, Limit: 1, Reason: engine.ReasonLimit})}}, []int32{0},
			`{"code":429,"message":"Too many requests","rule":"` + strings.Repeat("é", 9000) + `","reason":"limit"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := decodeResponse(t, appendResponse(nil, &c.call, c.items, deciding(c.call.Verdicts), nil))
			if want := expected(&c.call, c.items, c.body); !proto.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if c.body != "" && !json.Valid(got.GetRawBody()) {
				t.Errorf("no JSON: %s", got.GetRawBody())
			}
		})
	}
}

func TestEncodeUnits(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for interval, want := range map[time.Duration]struct {
		unit       rls.RateLimitResponse_RateLimit_Unit
		multiplier uint64
	}{
		time.Second:      {rls.RateLimitResponse_RateLimit_SECOND, 1},
		10 * time.Second: {rls.RateLimitResponse_RateLimit_SECOND, 10},
		90 * time.Second: {rls.RateLimitResponse_RateLimit_SECOND, 90},
		time.Minute:      {rls.RateLimitResponse_RateLimit_MINUTE, 1},
		90 * time.Minute: {rls.RateLimitResponse_RateLimit_MINUTE, 90},
		time.Hour:        {rls.RateLimitResponse_RateLimit_HOUR, 1},
		day:              {rls.RateLimitResponse_RateLimit_DAY, 1},
		36 * time.Hour:   {rls.RateLimitResponse_RateLimit_HOUR, 36},
		7 * day:          {rls.RateLimitResponse_RateLimit_DAY, 7},
	} {
		if unit, multiplier := unitOf(interval); rls.RateLimitResponse_RateLimit_Unit(unit) != want.unit || multiplier != want.multiplier {
			t.Errorf("%v: got %d x %d, want %d x %v", interval, multiplier, unit, want.multiplier, want.unit)
		}
	}
}

// Any verdicts at all become what the generated types would say.
func TestEncodeProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rule := rapid.Custom(func(rt *rapid.T) *engine.CompiledRule {
			return &engine.CompiledRule{
				ID:       strings.ToValidUTF8(rapid.StringN(1, 200, -1).Draw(rt, "id"), "?"),
				Resource: strings.ToValidUTF8(rapid.String().Draw(rt, "resource"), "?"),
				Interval: time.Duration(rapid.IntRange(1, 1<<20).Draw(rt, "interval")) * time.Second,
			}
		})
		c := engine.Call{Overall: engine.Code(rapid.IntRange(0, 1).Draw(rt, "overall"))}
		items := rapid.SliceOfN(rapid.Just[int32](noItem), 0, 3).Draw(rt, "empty")
		for range rapid.IntRange(0, 4).Draw(rt, "n") {
			v := engine.Verdict{
				Limit:     rapid.Int64Range(0, math.MaxInt32).Draw(rt, "limit"),
				Unlimited: rapid.Bool().Draw(rt, "unlimited"),
				Remaining: rapid.Int64Min(0).Draw(rt, "remaining"),
				Reset:     time.Duration(rapid.Int64Range(0, 1<<52).Draw(rt, "reset")),
				Reason:    engine.Reason(rapid.IntRange(0, 4).Draw(rt, "reason")),
			}
			if c.Overall == engine.Block {
				v.Code = engine.Code(rapid.IntRange(0, 1).Draw(rt, "code"))
			}
			if rapid.Bool().Draw(rt, "ruled") {
				v.Rule = rule.Draw(rt, "rule")
			}
			if rapid.Bool().Draw(rt, "shadowed") {
				v.ShadowRule = rule.Draw(rt, "shadow")
			}
			items = append(items, int32(len(c.Verdicts)))
			c.Verdicts = append(c.Verdicts, v)
		}
		got := decodeResponse(rt, appendResponse([]byte("before"), &c, items, deciding(c.Verdicts), nil)[len("before"):])
		if c.Overall == engine.Block && !json.Valid(got.GetRawBody()) {
			rt.Fatalf("no JSON: %s", got.GetRawBody())
		}
		if want := expected(&c, items, string(got.GetRawBody())); !proto.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestBlockBodyEscapes(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`a"b\c`, "tab\tnl\nnul\x00del\x7f", "</script>", "é\u2028😀"} {
		var got struct{ Rule string }
		body := appendBlockBody(nil, &engine.Verdict{Rule: &engine.CompiledRule{ID: id}})
		if err := json.Unmarshal(body, &got); err != nil || got.Rule != id {
			t.Errorf("%q: got %s: %q, %v", id, body, got.Rule, err)
		}
	}
	if got := string(appendJSONString(nil, "a\xffb")); got != "\"a\uFFFDb\"" {
		t.Errorf("got %q", got)
	}
	if got := string(appendString(nil, 1, "a\xffb")); got != "\n\x05a\uFFFDb" {
		t.Errorf("got %q", got)
	}
}

func BenchmarkEncode(b *testing.B) {
	pass := engine.Call{Verdicts: []engine.Verdict{{Rule: perSecond, Limit: 100, Remaining: 42, Reset: time.Second}, {Rule: perSecond, Limit: 100, Remaining: 7, Reset: time.Second}}}
	block := engine.Call{Overall: engine.Block, Verdicts: []engine.Verdict{{Code: engine.Block, Rule: perSecond, Limit: 100, Reason: engine.ReasonLimit, Reset: time.Second}, pass.Verdicts[1]}}
	for name, c := range map[string]*engine.Call{"pass": &pass, "block": &block} {
		items := []int32{0, 1}
		b.Run(name+"/sidecard", func(b *testing.B) {
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = appendResponse(dst[:0], c, items, deciding(c.Verdicts), nil)
			}
		})
		b.Run(name+"/generated types", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := proto.Marshal(expected(c, items, "{}")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
