package ratelimitsvc

import (
	"errors"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// The bounds of a request. Only the configuration of the client reaches them, never what a client
// of Envoy sends.
const (
	maxDescriptors = 64
	maxEntries     = 64 // of one descriptor
)

// The ways in which a request is unusable. All of them are the caller's mistake.
var (
	errDomain      = errors.New("domain is empty")
	errDescriptors = errors.New("more than 64 descriptors")
	errEntries     = errors.New("more than 64 entries in a descriptor")
)

// request is a decoded envoy.service.ratelimit.v3.RateLimitRequest. Its strings alias the message
// that decode was given: they are valid while that buffer is held, and nobody writes to it.
type request struct {
	domain      string
	hits        uint32
	descriptors []descriptor
	entries     []entry // of all descriptors, one after the other
}

// descriptor is one element of descriptors. Its entries are request.entries[first:end].
type descriptor struct {
	first, end int32
	hits       uint64
	hasHits    bool // hits_addend was sent, be it 0
	negative   bool
	override   bool // limit was sent
	limit      limit
}

// limit is a limit that the caller asks for in place of the configured one.
type limit struct {
	requestsPerUnit uint32
	unit            int32
	multiplier      uint32
	hasMultiplier   bool
}

type entry struct {
	key, value string
}

// reset empties the request, so that it pins no buffer, and keeps its slices.
func (r *request) reset() {
	clear(r.entries)
	r.domain, r.hits = "", 0
	r.descriptors = r.descriptors[:0]
	r.entries = r.entries[:0]
}

// decode fills an empty request from the wire. It decodes what proto.Unmarshal decodes, field for
// field (the last of a repeated scalar wins, repeated messages merge, unknown fields and
// well-formed groups are skipped), except that strings are taken as they come: a client must not
// get past its limits with a byte that is no UTF-8. Broken framing, and more than 64 descriptors or
// entries, are errors. It allocates nothing once the slices have grown.
func (r *request) decode(b []byte) error {
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var err error
		switch {
		case num == 1 && typ == protowire.BytesType:
			r.domain, n = consumeString(b)
		case num == 2 && typ == protowire.BytesType:
			var msg []byte
			if msg, n = consumeBytes(b); n >= 0 {
				err = r.decodeDescriptor(msg)
			}
		case num == 3 && typ == protowire.VarintType:
			var v uint64
			v, n = protowire.ConsumeVarint(b)
			r.hits = uint32(v)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if err == nil {
			err = protowire.ParseError(n)
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	if r.domain == "" {
		return errDomain
	}
	return nil
}

func (r *request) decodeDescriptor(b []byte) error {
	if len(r.descriptors) == maxDescriptors {
		return errDescriptors
	}
	d := descriptor{first: int32(len(r.entries))}
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var err error
		var msg []byte
		switch {
		case num == 1 && typ == protowire.BytesType:
			if msg, n = consumeBytes(b); n >= 0 {
				err = r.decodeEntry(msg, int(d.first))
			}
		case num == 2 && typ == protowire.BytesType:
			if msg, n = consumeBytes(b); n >= 0 {
				d.override = true
				err = d.limit.decode(msg)
			}
		case num == 3 && typ == protowire.BytesType:
			if msg, n = consumeBytes(b); n >= 0 {
				d.hasHits = true
				err = decodeWrapper(msg, &d.hits)
			}
		case num == 4 && typ == protowire.VarintType:
			var v uint64
			v, n = protowire.ConsumeVarint(b)
			d.negative = v != 0
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if err == nil {
			err = protowire.ParseError(n)
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	d.end = int32(len(r.entries))
	r.descriptors = append(r.descriptors, d)
	return nil
}

func (r *request) decodeEntry(b []byte, first int) error {
	if len(r.entries)-first == maxEntries {
		return errEntries
	}
	var e entry
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		switch {
		case num == 1 && typ == protowire.BytesType:
			e.key, n = consumeString(b)
		case num == 2 && typ == protowire.BytesType:
			e.value, n = consumeString(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
	}
	r.entries = append(r.entries, e)
	return nil
}

func (l *limit) decode(b []byte) error {
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var err error
		var v uint64
		switch {
		case num == 1 && typ == protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
			l.requestsPerUnit = uint32(v)
		case num == 2 && typ == protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
			l.unit = int32(v)
		case num == 3 && typ == protowire.BytesType:
			var msg []byte
			if msg, n = consumeBytes(b); n >= 0 {
				v = uint64(l.multiplier)
				err = decodeWrapper(msg, &v)
				l.multiplier, l.hasMultiplier = uint32(v), true
			}
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if err == nil {
			err = protowire.ParseError(n)
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// decodeWrapper merges a google.protobuf.UInt64Value or UInt32Value into v.
func decodeWrapper(b []byte, v *uint64) error {
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if num == 1 && typ == protowire.VarintType {
			*v, n = protowire.ConsumeVarint(b)
		} else {
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
	}
	return nil
}

// consumeTag is protowire.ConsumeTag, which takes field numbers that proto.Unmarshal refuses, with a
// short cut for the one-byte tags that all our fields have.
func consumeTag(b []byte) (protowire.Number, protowire.Type, int) {
	if len(b) > 0 && b[0] >= 1<<3 && b[0] < 1<<7 {
		return protowire.Number(b[0] >> 3), protowire.Type(b[0] & 7), 1
	}
	num, typ, n := protowire.ConsumeTag(b)
	if num > protowire.MaxValidNumber {
		return protowire.ConsumeTag([]byte{0}) // refused in the same way as the field number 0
	}
	return num, typ, n
}

// consumeBytes is protowire.ConsumeBytes with a short cut for lengths of one byte.
func consumeBytes(b []byte) ([]byte, int) {
	if len(b) > 0 && b[0] < 1<<7 {
		if n := 1 + int(b[0]); n <= len(b) {
			return b[1:n], n
		}
	}
	return protowire.ConsumeBytes(b)
}

// consumeString is protowire.ConsumeString without the copy.
//
// The string lives in the message buffer. The service holds a reference to that buffer from before
// decode until the call is decided and answered, gRPC never writes to a buffer that is referenced,
// and reset drops every such string before the reference is given back. FuzzDecode covers it.
func consumeString(b []byte) (string, int) {
	v, n := consumeBytes(b)
	return unsafe.String(unsafe.SliceData(v), len(v)), n
}
