package listen

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
)

// Counter counts the connections that listeners have accepted and that are still open, so that a
// draining daemon can wait for its clients to leave, and bounds their number. One Counter may count for
// several listeners. The zero value is ready and has no bound; all methods are safe for concurrent use;
// it must not be copied.
type Counter struct {
	// Max is how many connections may be open at a time; 0 or less: any number. One more is closed as
	// soon as it has been made, because a client that is left waiting in the kernel's queue would learn
	// nothing until its time is up. Not to be changed once a listener accepts.
	Max int

	mu      sync.Mutex
	open    int           // guarded by mu
	refused int64         // guarded by mu
	idle    chan struct{} // closed when open falls to 0; made by the first Wait that has to wait; guarded by mu
}

// Listener returns a listener that accepts from ln, counts what it accepts and closes what exceeds the
// bound. Closing it closes ln and leaves accepted connections alone.
func (c *Counter) Listener(ln net.Listener) net.Listener {
	return &countedListener{Listener: ln, counter: c}
}

// Open returns how many accepted connections are open.
func (c *Counter) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// Refused returns how many connections were closed because Max were open.
func (c *Counter) Refused() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
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

// enter counts a connection in, or refuses it.
func (c *Counter) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Max > 0 && c.open >= c.Max {
		c.refused++
		return false
	}
	c.open++
	return true
}

// leave counts a connection out.
func (c *Counter) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
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
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.counter.enter() {
			return &countedConn{Conn: conn, counter: l.counter}, nil
		}
		conn.Close()
	}
}

type countedConn struct {
	net.Conn
	counter *Counter
	once    sync.Once
}

// Close closes the connection and counts it out, once however often it is called.
func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.counter.leave)
	return err
}

// SyscallConn gives access to the socket, which callers need for its options and peer credentials.
func (c *countedConn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
