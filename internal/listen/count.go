package listen

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
)

// Counter counts the connections that listeners have accepted and that are still open, so that a
// draining daemon can wait for its clients to leave. One Counter may count for several listeners. The
// zero value is ready; all methods are safe for concurrent use; it must not be copied.
type Counter struct {
	mu   sync.Mutex
	open int
	idle chan struct{} // closed when open falls to 0; made by the first Wait that has to wait
}

// Listener returns a listener that accepts from ln and counts what it accepts. Closing it closes ln
// and leaves accepted connections alone.
func (c *Counter) Listener(ln net.Listener) net.Listener {
	return &countedListener{Listener: ln, counter: c}
}

// Open returns how many accepted connections are open.
func (c *Counter) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// Wait returns nil as soon as no connection is open, or the cause for which ctx ended before that.
// Connections accepted meanwhile prolong the wait: close the listeners first.
func (c *Counter) Wait(ctx context.Context) error {
	for {
		c.mu.Lock()
		if c.open == 0 {
			c.mu.Unlock()
			return nil
		}
		if c.idle == nil {
			c.idle = make(chan struct{})
		}
		idle := c.idle
		c.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *Counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	if c.open == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

type countedListener struct {
	net.Listener
	counter *Counter
}

func (l *countedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.counter.add(1)
	return &countedConn{Conn: conn, counter: l.counter}, nil
}

type countedConn struct {
	net.Conn
	counter *Counter
	once    sync.Once
}

// Close closes the connection and counts it out, once however often it is called.
func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { c.counter.add(-1) })
	return err
}

// SyscallConn gives access to the socket, which callers need for its options and peer credentials.
func (c *countedConn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
