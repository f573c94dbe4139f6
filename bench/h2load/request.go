package h2load

import (
	"bytes"
	"encoding/binary"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"
)

// MaxKeys is how many distinct requests there are.
const MaxKeys = 1_000_000

// request is a ShouldRateLimit message, encoded once, with the digits left open that differ from
// one key to the next. Its one descriptor has the entries that an Envoy configured for sidecard
// sends. It is immutable.
type request struct {
	message []byte // gRPC prefix included
	path    int    // where the six digits of the path are
	user    int    // the same in header.x-user-id
	addr    int    // where the last three octets of the remote address are: 1aa.1bb.1cc
}

const (
	pathTemplate = "/orders/000000?expand=items"
	userTemplate = "user-000000"
	addrTemplate = "10.100.100.100"
)

func newRequest(domain, route string) (*request, error) {
	entry := func(key, value string) *ratelimit.RateLimitDescriptor_Entry {
		return &ratelimit.RateLimitDescriptor_Entry{Key: key, Value: value}
	}
	body, err := proto.Marshal(&rls.RateLimitRequest{
		Domain: domain,
		Descriptors: []*ratelimit.RateLimitDescriptor{{Entries: []*ratelimit.RateLimitDescriptor_Entry{
			entry("route", route),
			entry("path", pathTemplate),
			entry("method", "GET"),
			entry("host", "shop.example.com"),
			entry("remote_address", addrTemplate),
			entry("header.x-user-id", userTemplate),
		}}},
	})
	if err != nil {
		return nil, err
	}
	m := make([]byte, 5, 5+len(body))
	binary.BigEndian.PutUint32(m[1:], uint32(len(body)))
	m = append(m, body...)
	return &request{
		message: m,
		path:    bytes.Index(m, []byte(pathTemplate)) + len("/orders/"),
		user:    bytes.Index(m, []byte(userTemplate)) + len("user-"),
		addr:    bytes.Index(m, []byte(addrTemplate)) + len("10."),
	}, nil
}

// appendTo appends the message of key k, from 0 to MaxKeys-1: no two keys share a path, a user or
// an address.
func (r *request) appendTo(dst []byte, k int) []byte {
	at := len(dst)
	dst = append(dst, r.message...)
	m := dst[at:]
	for i := 5; i >= 0; i-- {
		d := byte('0' + k%10)
		k /= 10
		m[r.path+i] = d
		m[r.user+i] = d
		m[r.addr+i/2*4+1+i%2] = d
	}
	return dst
}
