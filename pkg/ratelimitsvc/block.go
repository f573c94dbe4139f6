package ratelimitsvc

import (
	"strconv"

	"github.com/sidecard/sidecard/pkg/engine"
)

// appendBlockBody appends the JSON body of a refusal for which no block response is configured. code
// and message are where Sentinel's gateway adapters have them; the other fields are left out where
// nothing is known. v may be nil.
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

// appendJSONString appends s quoted and escaped.
func appendJSONString(dst []byte, s string) []byte {
	return append(appendJSON(append(dst, '"'), s), '"')
}
