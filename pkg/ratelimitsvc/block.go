package ratelimitsvc

import (
	"strconv"
	"unicode/utf8"

	"github.com/sidecard/sidecard/pkg/engine"
)

// appendBlockBody appends the JSON body of a refusal. code and message are where Sentinel's gateway
// adapters have them; the other fields are left out where nothing is known. v may be nil.
func appendBlockBody(dst []byte, v *engine.Verdict) []byte {
	dst = append(dst, `{"code":429,"message":"Too many requests"`...)
	if v != nil {
		if v.Rule != nil {
			dst = append(dst, `,"rule":`...)
			dst = appendJSONString(dst, v.Rule.ID)
		}
		dst = append(dst, `,"reason":`...)
		dst = appendJSONString(dst, v.Reason.String())
		if v.Reset > 0 {
			dst = append(dst, `,"retryAfterSeconds":`...)
			dst = strconv.AppendInt(dst, wholeSeconds(v.Reset), 10)
		}
	}
	return append(dst, '}')
}

// appendJSONString appends s quoted and escaped. Bytes that are no UTF-8 become U+FFFD.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c < ' ' || c == 0x7f:
			const digits = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = utf8.AppendRune(dst, c)
		}
	}
	return append(dst, '"')
}
