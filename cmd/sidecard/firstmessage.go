package main

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"
)

// firstMessage is how long a call may take from its headers on to send its message whole and to say that
// there is no other one. Without a bound
// a client holds the places of 4096 calls as long as it answers pings.
const firstMessage = 10 * time.Second

// overdue is the key in the context of a call to the *time.Timer that ends it.
type overdue struct{}

// awaitMessage ends a call whose message does not come in time; it is a tap.ServerInHandle. A call that has a
// deadline no later than that ends by itself, as all of Envoy's do, and costs no timer.
func awaitMessage(ctx context.Context, _ *tap.Info) (context.Context, error) {
	if at, ok := ctx.Deadline(); ok && time.Until(at) <= firstMessage {
		return ctx, nil
	}
	// That it is cancelled is undone with the call: the context of the server above it ends then.
	ctx, end := context.WithCancel(ctx)
	return context.WithValue(ctx, overdue{}, time.AfterFunc(firstMessage, end)), nil
}

// receipts registers services whose calls are not ended any more by awaitMessage once their message has come.
type receipts struct{ grpc.ServiceRegistrar }

// RegisterService implements grpc.ServiceRegistrar.
func (r receipts) RegisterService(desc *grpc.ServiceDesc, impl any) {
	own := *desc
	own.Methods, own.Streams = make([]grpc.MethodDesc, len(desc.Methods)), make([]grpc.StreamDesc, len(desc.Streams))
	for i, m := range desc.Methods {
		handle := m.Handler
		m.Handler = func(srv any, ctx context.Context, receive func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
			if timer, ok := ctx.Value(overdue{}).(*time.Timer); ok {
				inner := receive
				receive = func(m any) error {
					err := inner(m)
					timer.Stop()
					return err
				}
			}
			return handle(srv, ctx, receive, interceptor)
		}
		own.Methods[i] = m
	}
	for i, s := range desc.Streams {
		handle := s.Handler
		s.Handler = func(srv any, stream grpc.ServerStream) error {
			if timer, ok := stream.Context().Value(overdue{}).(*time.Timer); ok {
				stream = received{stream, timer}
			}
			return handle(srv, stream)
		}
		own.Streams[i] = s
	}
	r.ServiceRegistrar.RegisterService(&own, impl)
}

// received stops the timer of a stream whose first message has come.
type received struct {
	grpc.ServerStream
	timer *time.Timer
}

// RecvMsg implements grpc.ServerStream.
func (r received) RecvMsg(m any) error {
	err := r.ServerStream.RecvMsg(m)
	r.timer.Stop()
	return err
}
