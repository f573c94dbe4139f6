package listen

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// Peers tells the processes at the other ends of connections apart, and says when one has gone for good:
// when its last connection ended a while ago and it has not come back. The connections that one process
// makes to one listener have one peer. Where the system does not say which process that is (TCP, or a
// process of another container), all that it cannot tell apart are one: those of the same user, or host.
//
// Make it with NewPeers. All methods are safe for concurrent use.
type Peers struct {
	now   func() int64
	grace int64

	mu        sync.Mutex
	listeners int                   // guarded by mu
	last      uint32                // number of the newest peer; guarded by mu
	known     map[peerKey]*peerLife // guarded by mu
}

// peerKey is what is known of a process.
type peerKey struct {
	listener int
	pid      int32  // 0: unknown
	uid      uint32 // if the connection is one of a Unix socket
	host     string // if not
}

type peerLife struct {
	number uint32
	open   int
	gone   int64 // when open fell to 0
}

// NewPeers returns a Peers to which a process has gone for good once its last connection has been closed for
// grace nanoseconds. now is the time in nanoseconds, which must not go back.
func NewPeers(grace int64, now func() int64) *Peers {
	return &Peers{now: now, grace: grace, known: make(map[peerKey]*peerLife)}
}

// Listener returns a listener that accepts from ln. The RemoteAddr of its connections is a *PeerAddr.
func (p *Peers) Listener(ln net.Listener) net.Listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners++
	return &peerListener{Listener: ln, peers: p, number: p.listeners}
}

// Gone returns the numbers of the peers that have gone for good, each of them once.
func (p *Peers) Gone() []uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var gone []uint32
	for key, life := range p.known {
		if life.open == 0 && p.now()-life.gone >= p.grace {
			gone = append(gone, life.number)
			delete(p.known, key)
		}
	}
	return gone
}

// enter counts a connection of a process.
func (p *Peers) enter(key peerKey) *peerLife {
	p.mu.Lock()
	defer p.mu.Unlock()
	life := p.known[key]
	if life == nil {
		if p.last++; p.last == 0 {
			p.last = 1
		}
		life = &peerLife{number: p.last}
		p.known[key] = life
	}
	life.open++
	return life
}

func (p *Peers) leave(life *peerLife) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if life.open--; life.open == 0 {
		life.gone = p.now()
	}
}

// PeerAddr is the address of the other end of a connection, and which process that is.
type PeerAddr struct {
	net.Addr
	peer uint32
}

// Peer returns the number of the process, which is not 0.
func (a *PeerAddr) Peer() uint32 { return a.peer }

type peerListener struct {
	net.Listener
	peers  *Peers
	number int
}

func (l *peerListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	key := peerKey{listener: l.number}
	if who, ok := peer(conn); ok {
		key.pid, key.uid = who.pid, who.uid
	} else if host, _, err := net.SplitHostPort(conn.RemoteAddr().String()); err == nil {
		key.host = host
	}
	life := l.peers.enter(key)
	return &peerConn{Conn: conn, peers: l.peers, life: life, addr: &PeerAddr{conn.RemoteAddr(), life.number}}, nil
}

type peerConn struct {
	net.Conn
	peers *Peers
	life  *peerLife
	addr  *PeerAddr
	once  sync.Once
}

func (c *peerConn) RemoteAddr() net.Addr { return c.addr }

// Close closes the connection and counts it out, once however often it is called.
func (c *peerConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { c.peers.leave(c.life) })
	return err
}

// SyscallConn gives access to the socket, which callers need for its options and peer credentials.
func (c *peerConn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
