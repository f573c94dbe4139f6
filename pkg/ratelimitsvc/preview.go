package ratelimitsvc

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// Preview is what a client gets of one decision through an Envoy whose filter is configured as the shipped one is,
// with X-RateLimit headers, Retry-After and the status 429.
type Preview struct {
	Status  int                // 0: that of the application
	Headers []rule.HeaderField // that Envoy adds, names in lower case
	Body    string             // of a refusal
}

// NewPreview foretells the answer to a request of one descriptor. fallback is Config.Block.
func NewPreview(v *engine.Verdict, fallback *rule.BlockResponse) Preview {
	var p Preview
	if v.Rule != nil && !v.Unlimited && v.Rule.HasLimit() {
		p.addLimit(v)
	}
	if v.Code == engine.Pass {
		return p
	}
	p.Status = 429
	p.add("x-envoy-ratelimited", "true")
	p.add("retry-after", strconv.FormatInt(max(wholeSeconds(v.Reset), 1), 10)) // Envoy writes 1 where no time is known
	response := fallback
	if v.Rule != nil && v.Rule.Response != nil {
		response = v.Rule.Response
	}
	if response == nil {
		p.add("content-type", "application/json")
		p.Body = string(appendBlockBody(nil, v))
		return p
	}
	p.addResponse(newAnswer(response), v)
	return p
}

func (p *Preview) add(name, value string) {
	p.Headers = append(p.Headers, rule.HeaderField{Name: name, Value: value})
}

// addLimit adds the headers that Envoy makes of a DescriptorStatus with a current_limit: those of the draft
// draft-ietf-httpapi-ratelimit-headers-03.
func (p *Preview) addLimit(v *engine.Verdict) {
	limit := strconv.FormatUint(clamp32(v.Limit), 10)
	if window := int64(v.Rule.Interval / time.Second); window > 0 {
		limit = fmt.Sprintf("%s, %s;w=%d;name=%q", limit, limit, window, v.Rule.ID)
	}
	p.add("x-ratelimit-limit", limit)
	p.add("x-ratelimit-remaining", strconv.FormatUint(clamp32(v.Remaining), 10))
	p.add("x-ratelimit-reset", strconv.FormatInt(wholeSeconds(v.Reset), 10))
}

// addResponse adds what a block response adds, as answer.appendTo does.
func (p *Preview) addResponse(a *answer, v *engine.Verdict) {
	if a.contentType != "" {
		p.add("content-type", a.contentType)
	}
	for _, h := range a.headers {
		if value := bytes.Trim(fillIn(h.value, v, escapeHeader), " "); len(value) > 0 {
			p.add(h.name, string(value))
		}
	}
	p.Body = string(fillIn(a.body, v, a.escape))
}

func fillIn(text []piece, v *engine.Verdict, e escaping) []byte {
	var out []byte
	for i := range text {
		out = text[i].appendTo(out, v, e)
	}
	return out
}
