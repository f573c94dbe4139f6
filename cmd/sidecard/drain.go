package main

import (
	"context"
	"time"

	"github.com/sidecard/sidecard/internal/listen"
)

// goodbye bounds the wait for calls in flight and for clients to close after they were told that
// the server goes away. Decisions take microseconds; only streams that never end reach it.
const goodbye = 2 * time.Second

// drain returns when the server may be taken from its clients: no connection is open any more, or
// limit has passed, or kill is done. Until then everything keeps being served, because Envoy calls
// on whatever health says, and answers its own clients with errors or without limits when nobody
// is there.
func drain(kill context.Context, limit time.Duration, clients ...*listen.Counter) (left int) {
	ctx, cancel := context.WithTimeout(kill, limit)
	defer cancel()
	for _, c := range clients {
		c.Wait(ctx) // its error is the end of ctx, which Open tells as well
		left += c.Open()
	}
	return left
}

// stoppable is what a grpc.Server offers to end it.
type stoppable interface {
	GracefulStop()
	Stop()
}

// stopServer lets the calls in flight end, for at most limit or until kill is done, and then ends
// what is left. Nothing of s runs any more when it returns.
func stopServer(kill context.Context, s stoppable, limit time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.GracefulStop()
	}()
	enough := time.NewTimer(limit)
	defer enough.Stop()
	select {
	case <-done:
	case <-enough.C:
	case <-kill.Done():
	}
	s.Stop()
	<-done
}
