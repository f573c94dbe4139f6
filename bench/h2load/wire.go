package h2load

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const method = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"

// headerBlock encodes the header fields of a request, which are the same every time. The first
// encoding enters them into the server's table. As soon as two in a row are equal, every further
// one would be: either all fields are in the table, or it is too small and each block turns all of
// it over. The bytes are then reused.
type headerBlock struct {
	list   []hpack.HeaderField
	enc    *hpack.Encoder
	buf    bytes.Buffer
	last   []byte
	stable bool
}

// init sets the fields that Envoy sends to a rate limit service.
func (h *headerBlock) init(timeout time.Duration) {
	h.enc = hpack.NewEncoder(&h.buf)
	h.list = []hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: method},
		{Name: ":authority", Value: "ratelimit"},
		{Name: "te", Value: "trailers"},
	}
	if timeout > 0 {
		ms := strconv.FormatInt(max(timeout.Milliseconds(), 1), 10)
		h.list = append(h.list,
			hpack.HeaderField{Name: "grpc-timeout", Value: ms + "m"},
			hpack.HeaderField{Name: "x-envoy-expected-rq-timeout-ms", Value: ms})
	}
	h.list = append(h.list,
		hpack.HeaderField{Name: "content-type", Value: "application/grpc"},
		hpack.HeaderField{Name: "x-envoy-internal", Value: "true"},
		hpack.HeaderField{Name: "x-forwarded-for", Value: "10.0.0.1"})
}

// limit takes over the table size that the server allows.
func (h *headerBlock) limit(size uint32) {
	h.enc.SetMaxDynamicTableSizeLimit(size)
	h.stable = false
}

// encode returns the block of the next request, valid until the next call.
func (h *headerBlock) encode() []byte {
	if h.stable {
		return h.last
	}
	h.buf.Reset()
	for _, f := range h.list {
		_ = h.enc.WriteField(f) // it writes to memory and cannot fail
	}
	h.stable = bytes.Equal(h.buf.Bytes(), h.last)
	h.last = append(h.last[:0], h.buf.Bytes()...)
	return h.last
}

// fields takes the header fields that matter out of a block and puts them into a call.
type fields struct{ call *call }

func (f *fields) set(h hpack.HeaderField) {
	switch h.Name {
	case ":status":
		f.call.http = h.Value
	case "grpc-status":
		n, err := strconv.ParseUint(h.Value, 10, 31)
		if err != nil {
			n = unknownStatus
		}
		f.call.status = int(n)
	case "grpc-message":
		f.call.text = h.Value
	}
}

// unpad takes the padding off the payload of a DATA or HEADERS frame.
func unpad(p []byte, padded bool) ([]byte, error) {
	if !padded {
		return p, nil
	}
	if len(p) == 0 || int(p[0]) >= len(p) {
		return nil, protocol("more padding than payload")
	}
	return p[1 : len(p)-int(p[0])], nil
}

// appendFrame appends the header of a frame whose payload of the given size follows.
func appendFrame(b []byte, typ http2.FrameType, flags http2.Flags, id uint32, size int) []byte {
	b = append(b, byte(size>>16), byte(size>>8), byte(size), byte(typ), byte(flags))
	return binary.BigEndian.AppendUint32(b, id)
}

func appendSetting(b []byte, id http2.SettingID, v uint32) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(id))
	return binary.BigEndian.AppendUint32(b, v)
}

func appendWindowUpdate(b []byte, n uint32) []byte {
	b = appendFrame(b, http2.FrameWindowUpdate, 0, 0, 4)
	return binary.BigEndian.AppendUint32(b, n)
}
