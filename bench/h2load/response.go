package h2load

import (
	"encoding/binary"
	"errors"
	"fmt"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
)

var errMessage = errors.New("malformed RateLimitResponse")

// overallCode reads the overall code out of one whole gRPC message without building it.
func overallCode(m []byte) (rls.RateLimitResponse_Code, error) {
	if len(m) < 5 {
		return 0, fmt.Errorf("%d bytes of message", len(m))
	}
	if m[0] != 0 {
		return 0, errors.New("compressed message")
	}
	if n := binary.BigEndian.Uint32(m[1:]); uint64(n) != uint64(len(m)-5) {
		return 0, fmt.Errorf("message of %d bytes says %d", len(m)-5, n)
	}
	var code rls.RateLimitResponse_Code
	for b := m[5:]; len(b) > 0; {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0, errMessage
		}
		b = b[n:]
		if num == 1 && typ == protowire.VarintType {
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return 0, errMessage
			}
			code, b = rls.RateLimitResponse_Code(v), b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return 0, errMessage
		}
		b = b[n:]
	}
	return code, nil
}

// unknownStatus stands for a grpc-status that is no number. It is gRPC's own UNKNOWN.
const unknownStatus = 2

// answer judges a finished call: whether it is over the limit, or why it is no answer.
func (cl *call) answer() (over bool, err error) {
	switch {
	case cl.http != "200":
		return false, fmt.Errorf("HTTP status %q", cl.http)
	case cl.status < 0:
		return false, errors.New("no grpc-status")
	case cl.status > 0:
		return false, fmt.Errorf("grpc status %v: %s", codes.Code(cl.status), cl.text)
	}
	code, err := overallCode(cl.message)
	if err != nil {
		return false, err
	}
	switch code {
	case rls.RateLimitResponse_OK:
		return false, nil
	case rls.RateLimitResponse_OVER_LIMIT:
		return true, nil
	}
	return false, fmt.Errorf("overall code %v", code)
}
