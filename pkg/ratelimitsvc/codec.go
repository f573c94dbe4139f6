package ratelimitsvc

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// Codec returns the codec that a server of this service must be made with
// (grpc.ForceServerCodecV2). It takes a reference to the bytes of our own requests and hands out
// the bytes of our own answers; all other messages, such as those of the health service, go to the
// codec that gRPC uses by default. It is stateless and safe for concurrent use.
//
// Decoding is left to the handler, because gRPC turns an error of a codec into the status Internal,
// and because the generated code refuses strings that are no UTF-8, which clients can send.
func Codec() encoding.CodecV2 {
	return codec{encoding.GetCodecV2(proto.Name)}
}

type codec struct {
	encoding.CodecV2
}

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if r, ok := v.(*response); ok {
		return mem.BufferSlice{mem.NewBuffer((*[]byte)(r), mem.DefaultBufferPool())}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*call)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	in.free() // gRPC unmarshals a second message before it refuses it
	in.raw = data.MaterializeToBuffer(mem.DefaultBufferPool())
	return nil
}

// response is an encoded answer on its way from the handler to Marshal, in a buffer that goes back
// to gRPC's pool when it has been written to the connection.
type response []byte

// responseSize is the capacity that a response starts with, besides that of texts of the rules;
// gRPC does not pool buffers of 1 KiB and less.
const responseSize = 2 << 10

// newResponse returns an empty response with room for texts of that many bytes.
func newResponse(texts int) *response {
	b := mem.DefaultBufferPool().Get(responseSize + texts)
	*b = (*b)[:0]
	return (*response)(b)
}
