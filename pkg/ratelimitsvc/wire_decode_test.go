package ratelimitsvc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// pairs builds a descriptor of keys and values.
func pairs(kv ...string) *common.RateLimitDescriptor {
	d := &common.RateLimitDescriptor{}
	for i := 0; i < len(kv); i += 2 {
		d.Entries = append(d.Entries, &common.RateLimitDescriptor_Entry{Key: kv[i], Value: kv[i+1]})
	}
	return d
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// typical is what Envoy sends for one request: 159 bytes, two descriptors.
func typical() *rls.RateLimitRequest {
	return &rls.RateLimitRequest{Domain: "sidecard", Descriptors: []*common.RateLimitDescriptor{
		pairs("route", "orders", "path", "/orders/7?sku=12", "method", "GET", "remote_address", "10.1.2.3", "header.x-user-id", "bob"),
		pairs("route", "search", "host", "shop.example:8080"),
	}}
}

// same compares a decoded request with what proto.Unmarshal made of the same bytes.
func same(r *request, m *rls.RateLimitRequest) error {
	if r.domain != m.GetDomain() || r.hits != m.GetHitsAddend() || len(r.descriptors) != len(m.GetDescriptors()) {
		return fmt.Errorf("got domain %q, hits %d, %d descriptors; proto has %v", r.domain, r.hits, len(r.descriptors), m)
	}
	for i, want := range m.GetDescriptors() {
		d := r.descriptors[i]
		var limit limit
		if l := want.GetLimit(); l != nil {
			limit.requestsPerUnit, limit.unit = l.GetRequestsPerUnit(), int32(l.GetUnit())
			limit.multiplier, limit.hasMultiplier = l.GetUnitMultiplier().GetValue(), l.GetUnitMultiplier() != nil
		}
		if d.hits != want.GetHitsAddend().GetValue() || d.hasHits != (want.GetHitsAddend() != nil) || d.negative != want.GetIsNegativeHits() ||
			d.override != (want.GetLimit() != nil) || d.limit != limit || int(d.end-d.first) != len(want.GetEntries()) {
			return fmt.Errorf("descriptor %d: got %+v; proto has %v", i, d, want)
		}
		for j, e := range r.entries[d.first:d.end] {
			if w := want.GetEntries()[j]; e.key != w.GetKey() || e.value != w.GetValue() {
				return fmt.Errorf("descriptor %d entry %d: got %q; proto has %v", i, j, e, w)
			}
		}
	}
	return nil
}

func TestDecode(t *testing.T) {
	t.Parallel()
	full := typical()
	full.HitsAddend = 3
	full.Descriptors[0].HitsAddend = wrapperspb.UInt64(1 << 63)
	full.Descriptors[0].Limit = &common.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 5, Unit: typev3.RateLimitUnit_DAY, UnitMultiplier: wrapperspb.UInt32(7)}
	full.Descriptors[1].HitsAddend = wrapperspb.UInt64(0)
	full.Descriptors[1].IsNegativeHits = true
	full.Descriptors[1].Limit = &common.RateLimitDescriptor_RateLimitOverride{Unit: -9}
	full.Descriptors = append(full.Descriptors, &common.RateLimitDescriptor{})
	for name, m := range map[string]*rls.RateLimitRequest{"typical": typical(), "every field": full} {
		var r request
		if err := r.decode(marshal(t, m)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := same(&r, m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The corners of the wire format, each compared with proto.Unmarshal.
func TestDecodeMerges(t *testing.T) {
	t.Parallel()
	domain := protoBytes(1, []byte("d"))
	for name, b := range map[string][]byte{
		"last domain wins":         protoCat(protoBytes(1, []byte("a")), domain),
		"hits above 32 bits":       protoCat(domain, protoNumber(3, 1<<32+5), protoNumber(3, 1<<33+7)),
		"long varint":              protoCat(domain, []byte{0x18, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}),
		"wrong wire types":         protoCat(protoNumber(1, 4), domain, protoNumber(2, 4), protoBytes(3, []byte("x")), protoBytes(2, protoCat(protoNumber(1, 1), protoNumber(2, 1), protoNumber(3, 1), protoBytes(4, "")))),
		"unknown fields":           protoCat(protoNumber(99, 1), domain, protoBytes(1000, []byte("\xff")), protowire.AppendFixed64(protowire.AppendTag(nil, 7, protowire.Fixed64Type), 1), protowire.AppendFixed32(protowire.AppendTag(nil, 8, protowire.Fixed32Type), 1)),
		"groups":                   protoCat(protoGroup(9, protoGroup(1, protoNumber(1, 1))), domain, protoGroup(2, nil), protoBytes(2, protoGroup(1, nil))),
		"hits merge":               protoCat(domain, protoBytes(2, protoCat(protoBytes(3, protoNumber(1, 5)), protoBytes(3, ""), protoBytes(3, protoCat(protoNumber(2, 8), protoBytes(1, "")))))),
		"hits: last wins":          protoCat(domain, protoBytes(2, protoBytes(3, protoCat(protoNumber(1, 5), protoNumber(1, 0))))),
		"negative: last wins":      protoCat(domain, protoBytes(2, protoCat(protoNumber(4, 1), protoNumber(4, 0)))),
		"negative: any number":     protoCat(domain, protoBytes(2, protoNumber(4, 1<<40))),
		"limits merge":             protoCat(domain, protoBytes(2, protoCat(protoBytes(2, protoNumber(1, 5)), protoBytes(2, protoNumber(2, 3)), protoBytes(2, protoBytes(3, protoNumber(1, 2))), protoBytes(2, protoBytes(3, ""))))),
		"limit: odd numbers":       protoCat(domain, protoBytes(2, protoBytes(2, protoCat(protoNumber(1, 1<<40+1), protoNumber(2, 1<<63+9), protoBytes(3, protoNumber(1, 1<<40+2)))))),
		"multiplier without value": protoCat(domain, protoBytes(2, protoBytes(2, protoBytes(3, "")))),
		"entry: last wins":         protoCat(domain, protoBytes(2, protoBytes(1, protoCat(protoBytes(1, []byte("k")), protoBytes(2, []byte("v")), protoBytes(1, []byte("k2")), protoBytes(2, ""))))),
		"empty entry":              protoCat(domain, protoBytes(2, protoBytes(1, ""))),
		"largest field number":     protoCat(domain, protoNumber(1<<29-1, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m rls.RateLimitRequest
			if err := proto.Unmarshal(b, &m); err != nil {
				t.Fatalf("the case itself is wrong: %v", err)
			}
			var r request
			if err := r.decode(b); err != nil {
				t.Fatal(err)
			}
			if err := same(&r, &m); err != nil {
				t.Error(err)
			}
		})
	}
	for name, b := range map[string][]byte{
		"field number 0":           protoCat(domain, []byte{0x00, 0x01}),
		"field number 2^29":        protoCat(domain, []byte{0x80, 0x80, 0x80, 0x80, 0x10, 0x01}),
		"group without end":        protoCat(domain, protoGroup(9, nil)[:1]),
		"end without group":        protoCat(domain, []byte{0x4c}),
		"group with the wrong end": protoCat(domain, []byte{0x4b, 0x54}),
		"wire type 7":              protoCat(domain, []byte{0x0f}),
		"varint too long":          protoCat(domain, []byte{0x18, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02}),
		"length beyond the end":    protoCat(domain, []byte{0x12, 0x05, 0x0a}),
		"in a wrapper":             protoCat(domain, protoBytes(2, protoBytes(3, []byte{0x08}))),
		"in a limit":               protoCat(domain, protoBytes(2, protoBytes(2, []byte{0x08}))),
		"in an entry":              protoCat(domain, protoBytes(2, protoBytes(1, []byte{0x0a, 0x09}))),
	} {
		if err := proto.Unmarshal(b, &rls.RateLimitRequest{}); err == nil {
			t.Errorf("%s: the case itself is wrong: proto takes it", name)
		}
		if err := new(request).decode(b); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// protoCat and those below it write parts of messages by hand.
func protoCat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func protoBytes[T string | []byte](num protowire.Number, b T) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), []byte(b))
}

func protoNumber(num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), v)
}

func protoGroup(num protowire.Number, b []byte) []byte {
	return protowire.AppendTag(append(protowire.AppendTag(nil, num, protowire.StartGroupType), b...), num, protowire.EndGroupType)
}

// Every cut of a message is an error or a message, never a panic, and the same for proto.
func TestDecodeTruncated(t *testing.T) {
	t.Parallel()
	whole := marshal(t, typical())
	for n := range whole {
		checkDecode(t, whole[:n])
	}
}

func TestDecodeBounds(t *testing.T) {
	t.Parallel()
	m := &rls.RateLimitRequest{Domain: "d"}
	for range 64 {
		d := pairs()
		for range 64 {
			d.Entries = append(d.Entries, &common.RateLimitDescriptor_Entry{Key: "k"})
		}
		m.Descriptors = append(m.Descriptors, d)
	}
	var r request
	if err := r.decode(marshal(t, m)); err != nil || len(r.entries) != 64*64 {
		t.Fatalf("64 of 64: got %d entries, %v", len(r.entries), err)
	}
	r.reset()
	m.Descriptors[63].Entries = append(m.Descriptors[63].Entries, &common.RateLimitDescriptor_Entry{})
	if err := r.decode(marshal(t, m)); !errors.Is(err, errEntries) {
		t.Errorf("65 entries: got %v", err)
	}
	r.reset()
	m.Descriptors = append(m.Descriptors[:63], pairs(), pairs())
	if err := r.decode(marshal(t, m)); !errors.Is(err, errDescriptors) {
		t.Errorf("65 descriptors: got %v", err)
	}
	r.reset()
	if err := r.decode(marshal(t, &rls.RateLimitRequest{Descriptors: typical().Descriptors})); !errors.Is(err, errDomain) {
		t.Errorf("no domain: got %v", err)
	}
	r.reset()
	if err := r.decode(nil); !errors.Is(err, errDomain) {
		t.Errorf("nothing: got %v", err)
	}
}

// checkDecode holds the decoder to proto.Unmarshal: the same request, or proto refuses it for its
// UTF-8 only, or both refuse it.
func checkDecode(t *testing.T, b []byte) {
	t.Helper()
	var r request
	err := r.decode(b)
	var m rls.RateLimitRequest
	perr := proto.Unmarshal(b, &m)
	switch {
	case errors.Is(err, errDomain):
		if perr == nil && m.GetDomain() != "" {
			t.Fatalf("%q: got %v, proto has domain %q", b, err, m.GetDomain())
		}
	case errors.Is(err, errDescriptors):
		if perr == nil && len(m.GetDescriptors()) <= maxDescriptors {
			t.Fatalf("%q: got %v, proto has %d", b, err, len(m.GetDescriptors()))
		}
	case errors.Is(err, errEntries):
		for _, d := range m.GetDescriptors() {
			if len(d.GetEntries()) > maxEntries {
				return
			}
		}
		if perr == nil {
			t.Fatalf("%q: got %v, proto has fewer", b, err)
		}
	case err != nil:
		if perr == nil {
			t.Fatalf("%q: got %v, proto takes it", b, err)
		}
	case perr != nil:
		if !strings.Contains(perr.Error(), "UTF-8") {
			t.Fatalf("%q: got %+v, proto says %v", b, r, perr)
		}
		valid := utf8.ValidString(r.domain)
		for _, e := range r.entries {
			valid = valid && utf8.ValidString(e.key) && utf8.ValidString(e.value)
		}
		if valid && utf8.Valid(b) {
			t.Fatalf("%q: proto says %v, but all is UTF-8", b, perr)
		}
	default:
		if err := same(&r, &m); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(marshal(f, typical()))
	full := typical()
	full.HitsAddend = 3
	full.Descriptors[0].HitsAddend = wrapperspb.UInt64(1 << 63)
	full.Descriptors[0].Limit = &common.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 5, Unit: typev3.RateLimitUnit_DAY, UnitMultiplier: wrapperspb.UInt32(7)}
	full.Descriptors[1].IsNegativeHits = true
	f.Add(marshal(f, full))
	f.Add([]byte("\n\x01d\x12\x07\n\x05\n\x01k\x12\x00\x12\x00"))
	f.Add([]byte("\n\x01\xff\x4b\x08\x01\x4c\x18\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(checkDecode)
}

func BenchmarkDecode(b *testing.B) {
	wire := marshal(b, typical())
	b.Run("sidecard", func(b *testing.B) {
		var r request
		b.ReportAllocs()
		for b.Loop() {
			r.reset()
			if err := r.decode(wire); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("proto.Unmarshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var m rls.RateLimitRequest
			if err := proto.Unmarshal(wire, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
}
