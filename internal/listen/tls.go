package listen

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
)

// tlsListener speaks TLS on what it accepts. The handshake is made by the first Read or Write of a
// connection, so that a slow one keeps nobody else waiting; whoever serves bounds it by a deadline.
type tlsListener struct {
	net.Listener
	config  *tls.Config
	refused func(error)
}

func (l *tlsListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tlsConn{Conn: tls.Server(conn, l.config), refused: l.refused}, nil
}

// tlsConn is a connection that says when its handshake fails.
type tlsConn struct {
	*tls.Conn
	refused func(error)
	once    sync.Once
}

// Read implements net.Conn.
func (c *tlsConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.judge(err)
	return n, err
}

// Write implements net.Conn.
func (c *tlsConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.judge(err)
	return n, err
}

// judge reports an error that is one of the handshake, once. Whoever connects and leaves without a word,
// as probes do, was not refused.
func (c *tlsConn) judge(err error) {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || c.ConnectionState().HandshakeComplete {
		return
	}
	c.once.Do(func() { c.refused(err) })
}
