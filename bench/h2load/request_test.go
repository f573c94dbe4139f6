package h2load

import (
	"encoding/binary"
	"testing"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"
)

func TestRequestOfKey(t *testing.T) {
	t.Parallel()
	r, err := newRequest("shop", "orders")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		key              int
		path, user, addr string
	}{
		{0, "/orders/000000?expand=items", "user-000000", "10.100.100.100"},
		{123456, "/orders/123456?expand=items", "user-123456", "10.112.134.156"},
		{MaxKeys - 1, "/orders/999999?expand=items", "user-999999", "10.199.199.199"},
	}
	for _, tt := range tests {
		m := r.appendTo([]byte("before"), tt.key)[len("before"):]
		if m[0] != 0 || int(binary.BigEndian.Uint32(m[1:])) != len(m)-5 {
			t.Errorf("key %d: prefix % x of a message of %d bytes", tt.key, m[:5], len(m)-5)
		}
		var got rls.RateLimitRequest
		if err := proto.Unmarshal(m[5:], &got); err != nil {
			t.Fatal(err)
		}
		if got.Domain != "shop" || len(got.Descriptors) != 1 {
			t.Fatalf("key %d: %v", tt.key, &got)
		}
		values := map[string]string{}
		for _, e := range got.Descriptors[0].Entries {
			values[e.Key] = e.Value
		}
		want := map[string]string{
			"route": "orders", "path": tt.path, "method": "GET", "host": "shop.example.com",
			"remote_address": tt.addr, "header.x-user-id": tt.user,
		}
		for k, v := range want {
			if values[k] != v {
				t.Errorf("key %d: entry %s is %q, want %q", tt.key, k, values[k], v)
			}
		}
		if len(values) != len(want) {
			t.Errorf("key %d: entries %v", tt.key, values)
		}
	}
}

func TestOverallCode(t *testing.T) {
	t.Parallel()
	message := func(r *rls.RateLimitResponse) []byte {
		b, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte{0, 0, 0, 0, byte(len(b))}, b...)
	}
	long := message(&rls.RateLimitResponse{
		OverallCode: rls.RateLimitResponse_OVER_LIMIT,
		Statuses:    []*rls.RateLimitResponse_DescriptorStatus{{LimitRemaining: 300}, {}},
		RawBody:     []byte("no"),
	})
	tests := []struct {
		name    string
		message []byte
		want    rls.RateLimitResponse_Code
		fails   bool
	}{
		{"ok", message(&rls.RateLimitResponse{OverallCode: rls.RateLimitResponse_OK}), rls.RateLimitResponse_OK, false},
		{"over limit among other fields", long, rls.RateLimitResponse_OVER_LIMIT, false},
		{"empty message", []byte{0, 0, 0, 0, 0}, rls.RateLimitResponse_UNKNOWN, false},
		{"no message", nil, 0, true},
		{"compressed", []byte{1, 0, 0, 0, 0}, 0, true},
		{"short", long[:len(long)-1], 0, true},
		{"long", append(long[:len(long):len(long)], 0), 0, true},
		{"bad tag", []byte{0, 0, 0, 0, 1, 0x80}, 0, true},
		{"bad code", []byte{0, 0, 0, 0, 2, 0x08, 0x80}, 0, true},
		{"bad length", []byte{0, 0, 0, 0, 2, 0x12, 0x05}, 0, true},
	}
	for _, tt := range tests {
		got, err := overallCode(tt.message)
		if got != tt.want || (err != nil) != tt.fails {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
}
