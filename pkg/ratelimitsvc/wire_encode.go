package ratelimitsvc

import (
	"encoding/binary"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sidecard/sidecard/pkg/engine"
)

// RateLimitResponse.Code.
const (
	codeOK        = 1
	codeOverLimit = 2
)

// noItem stands in the place of an item for a descriptor that no rule is asked about.
const noItem = -1

// appendResponse appends a RateLimitResponse: one status per descriptor, in place, of which items
// names the item of the decided call, and the refusal's headers, body and metadata. v is the verdict
// that deciding returns, and a what it is answered with; nil: the JSON body of appendBlockBody. All
// text comes from the rules, none from the request, so the request's buffer may be gone.
func appendResponse(dst []byte, c *engine.Call, items []int32, v *engine.Verdict, a *answer) []byte {
	code := uint64(codeOK)
	if c.Overall == engine.Block {
		code = codeOverLimit
	}
	dst = appendVarint(dst, 1, code)
	for _, i := range items {
		var mark int
		dst, mark = open(dst, 2)
		if i == noItem {
			dst = appendVarint(dst, 1, codeOK)
		} else {
			dst = appendStatus(dst, &c.Verdicts[i])
		}
		dst = shut(dst, mark)
	}
	switch {
	case c.Overall != engine.Block:
	case a != nil:
		dst = a.appendTo(dst, v)
	default:
		var mark int
		dst = appendHeader(dst, "content-type", "application/json")
		dst, mark = open(dst, 5)
		dst = appendBlockBody(dst, v)
		dst = shut(dst, mark)
	}
	return appendMetadata(dst, v, shadow(c.Verdicts), c.Token)
}

// deciding returns the refusal that makes the caller wait longest, where one that never fits waits
// longest; nil if nothing refused.
func deciding(verdicts []engine.Verdict) *engine.Verdict {
	var worst *engine.Verdict
	for i := range verdicts {
		v := &verdicts[i]
		if v.Code == engine.Block && (worst == nil || worst.Reset != 0 && (v.Reset == 0 || v.Reset > worst.Reset)) {
			worst = v
		}
	}
	return worst
}

func shadow(verdicts []engine.Verdict) *engine.CompiledRule {
	for i := range verdicts {
		if r := verdicts[i].ShadowRule; r != nil {
			return r
		}
	}
	return nil
}

// appendStatus appends the fields of a DescriptorStatus. Envoy makes its headers of the status with
// the smallest limit_remaining among those that have a current_limit, so a refusal says 0 remain,
// and a request that no rule limits says nothing.
func appendStatus(dst []byte, v *engine.Verdict) []byte {
	code := uint64(codeOK)
	if v.Code == engine.Block {
		code = codeOverLimit
	}
	dst = appendVarint(dst, 1, code)
	if v.Rule == nil || v.Unlimited {
		return dst
	}
	if v.Rule.HasLimit() {
		var mark int
		dst, mark = open(dst, 2)
		dst = appendLimit(dst, v.Rule, v.Limit)
		dst = shut(dst, mark)
	}
	if v.Code == engine.Pass {
		dst = appendVarint(dst, 3, clamp32(v.Remaining))
	}
	if v.Reset > 0 {
		// Whole seconds, because Envoy cuts the rest off and would tell clients to come too early.
		var mark int
		dst, mark = open(dst, 4)
		dst = appendVarint(dst, 1, uint64(wholeSeconds(v.Reset)))
		dst = shut(dst, mark)
	}
	return dst
}

// appendLimit appends the fields of a RateLimit.
func appendLimit(dst []byte, r *engine.CompiledRule, n int64) []byte {
	unit, multiplier := unitOf(r.Interval)
	dst = appendVarint(dst, 1, clamp32(n))
	dst = appendVarint(dst, 2, unit)
	dst = appendString(dst, 3, r.ID)
	if multiplier > 1 {
		var mark int
		dst, mark = open(dst, 4)
		dst = appendVarint(dst, 1, multiplier)
		dst = shut(dst, mark)
	}
	return dst
}

// unitOf expresses an interval of whole seconds in RateLimit.Unit: the largest of second, minute,
// hour and day that divides it, and how many of them it is.
func unitOf(interval time.Duration) (unit, multiplier uint64) {
	seconds := uint64(interval / time.Second)
	switch {
	case seconds == 0: // a limit of calls under way, which is per nothing
		return 0, 0
	case seconds%86400 == 0:
		return 4, seconds / 86400
	case seconds%3600 == 0:
		return 3, seconds / 3600
	case seconds%60 == 0:
		return 2, seconds / 60
	}
	return 1, seconds
}

// wholeSeconds rounds up.
func wholeSeconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return s
}

func clamp32(n int64) uint64 {
	return uint64(min(max(n, 0), math.MaxUint32))
}

// appendMetadata appends the dynamic_metadata: what access logs show, which is the rule that refused and
// why, and the rule in shadow that would have refused; and the token that Envoy brings back when the
// request has ended.
func appendMetadata(dst []byte, v *engine.Verdict, shadow *engine.CompiledRule, token engine.Token) []byte {
	if v == nil && shadow == nil && token == (engine.Token{}) {
		return dst
	}
	dst, mark := open(dst, 6)
	if v != nil {
		if v.Rule != nil {
			dst = appendStructField(dst, "rule", v.Rule.ID)
			dst = appendStructField(dst, "resource", v.Rule.Resource)
		}
		dst = appendStructField(dst, "reason", v.Reason.String())
	}
	if shadow != nil {
		dst = appendStructField(dst, "shadow_rule", shadow.ID)
	}
	if token != (engine.Token{}) {
		dst = appendToken(dst, token)
	}
	return shut(dst, mark)
}

// appendToken appends the entry of Struct.fields that holds a token.
func appendToken(dst []byte, token engine.Token) []byte {
	dst, entry := open(dst, 1)
	dst = appendString(dst, 1, "token")
	dst, value := open(dst, 2)
	dst, text := open(dst, 3)
	dst = token.AppendText(dst)
	return shut(shut(shut(dst, text), value), entry)
}

// appendStructField appends one entry of Struct.fields with a string value.
func appendStructField(dst []byte, key, value string) []byte {
	dst, entry := open(dst, 1)
	dst = appendString(dst, 1, key)
	dst, mark := open(dst, 2)
	dst = appendString(dst, 3, value)
	dst = shut(dst, mark)
	return shut(dst, entry)
}

// The append functions below take field numbers below 16, whose tags are one byte.

func appendVarint(dst []byte, num byte, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendVarint(append(dst, num<<3|byte(protowire.VarintType)), v)
}

// appendString appends a string field. Envoy refuses a response with bytes that are no UTF-8, and
// would let the request pass.
func appendString(dst []byte, num byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return protowire.AppendString(append(dst, num<<3|byte(protowire.BytesType)), s)
}

// open begins a message or bytes field of yet unknown length; shut ends it.
func open(dst []byte, num byte) (_ []byte, mark int) {
	return append(dst, num<<3|byte(protowire.BytesType), 0), len(dst) + 1
}

// shut writes the length of what was appended since open gave the mark, in one byte if it fits,
// else moving the content by the bytes that the length needs more.
func shut(dst []byte, mark int) []byte {
	n := len(dst) - mark - 1
	if n < 1<<7 {
		dst[mark] = byte(n)
		return dst
	}
	more := protowire.SizeVarint(uint64(n)) - 1
	for range more {
		dst = append(dst, 0)
	}
	copy(dst[mark+1+more:], dst[mark+1:mark+1+n])
	binary.PutUvarint(dst[mark:], uint64(n))
	return dst
}
