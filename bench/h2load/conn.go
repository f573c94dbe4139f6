package h2load

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/sys/unix"
)

const (
	frameHeader   = 9
	maxFrame      = 16384   // what we accept and, servers being bound to accept it, send
	defaultWindow = 65535   // of a connection or stream before anybody says otherwise
	ourWindow     = 1 << 20 // what we let the server send, on a stream and on the connection
	maxMessage    = 1 << 16 // longest answer; below ourWindow, so no stream's window needs topping up
	stall         = 5 * time.Second
)

// conn is one HTTP/2 connection. One goroutine at a time uses it.
type conn struct {
	net  net.Conn
	raw  syscall.RawConn
	spin bool
	base time.Time // the clock counts from here

	in   []byte // in[r:w] is received and not yet consumed
	r, w int
	out  []byte // frames to send

	poll    func(fd uintptr) bool // reads once without waiting, into pollN and pollErr
	pollN   int
	pollErr error

	req    *request
	header headerBlock
	dec    *hpack.Decoder
	fields fields

	nextID uint32
	open   map[uint32]*call
	free   []*call

	settled    bool  // the server's settings have come
	sendWindow int64 // of the connection; a stream's never matters, see start
	streamSend int64 // SETTINGS_INITIAL_WINDOW_SIZE of the server
	maxStreams int
	recvWindow int64 // bytes that the server may still send
	used       int64 // bytes received and not yet given back

	partial    []byte // header fragments that a CONTINUATION goes on with
	partialID  uint32 // the stream they belong to; 0: none
	partialEnd bool   // whether their HEADERS ended the stream

	away  error // the server's GOAWAY
	stamp int64 // when the bytes that are being consumed had been read
	res   Result
}

// call is one stream.
type call struct {
	start    int64 // latency counts from here
	message  []byte
	http     string // :status
	status   int    // grpc-status, -1 until it came
	text     string // grpc-message
	received int64  // flow-controlled bytes
}

func newConn(nc net.Conn, req *request, cfg Config) (*conn, error) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%T has no file descriptor", nc)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	return newConnState(nc, raw, req, cfg), nil
}

// newConnState returns the connection as it is before its first byte.
func newConnState(nc net.Conn, raw syscall.RawConn, req *request, cfg Config) *conn {
	c := &conn{
		net: nc, raw: raw, spin: cfg.Spin, base: time.Now(),
		in:  make([]byte, 64<<10),
		req: req, nextID: 1, open: map[uint32]*call{},
		sendWindow: defaultWindow, streamSend: defaultWindow, recvWindow: ourWindow,
		maxStreams: math.MaxInt32,
	}
	c.poll = func(fd uintptr) bool {
		c.pollN, c.pollErr = unix.Read(int(fd), c.in[c.w:])
		return true
	}
	c.header.init(cfg.Timeout)
	c.dec = hpack.NewDecoder(4096, c.fields.set)
	c.dec.SetMaxStringLength(maxFrame)
	return c
}

func (c *conn) now() int64 { return int64(time.Since(c.base)) }

// handshake sends our preface and waits for the server's settings, which bound what may follow.
func (c *conn) handshake() error {
	c.out = append(c.out, http2.ClientPreface...)
	c.out = appendFrame(c.out, http2.FrameSettings, 0, 0, 12)
	c.out = appendSetting(c.out, http2.SettingEnablePush, 0)
	c.out = appendSetting(c.out, http2.SettingInitialWindowSize, ourWindow)
	c.out = appendWindowUpdate(c.out, ourWindow-defaultWindow)
	limit := c.now() + int64(stall)
	for !c.settled {
		if _, err := c.turn(limit); err != nil {
			return err
		}
	}
	return c.flush()
}

// run does this connection's share of a load.
func (c *conn) run(l Load, s share) error {
	c.res = Result{}
	err := c.loop(l, s)
	if err != nil {
		for range c.open {
			c.res.fail(err)
		}
		clear(c.open)
	}
	return err
}

func (c *conn) loop(l Load, s share) error {
	pace := newPacer(c.now(), l, s.rate, s.calls, s.seed)
	rng := rand.New(rand.NewPCG(s.seed, 1))
	key, progress := s.key, c.now()
	for {
		now := c.now()
		for c.mayStart(l.Streams) {
			start, ok := pace.due(now)
			if !ok {
				break
			}
			if !l.Sequential {
				key = rng.IntN(l.Keys)
			}
			if err := c.start(start, key); err != nil {
				return err
			}
			key = (key + 1) % l.Keys
		}
		if len(c.open) == 0 {
			if c.away != nil {
				// The server may wait for the answer to a ping before it closes, or be gone by now.
				_ = c.flush()
				return c.away
			}
			if pace.done(now) {
				return c.flush()
			}
		}
		// Only silence while the server owes us something is a stall.
		until := progress + int64(stall)
		if c.mayStart(l.Streams) {
			if len(c.open) == 0 {
				progress, until = now, math.MaxInt64
			}
			if !pace.done(now) {
				until = min(until, pace.wake())
			}
		}
		n, err := c.turn(until)
		if err != nil {
			return err
		}
		if n > 0 {
			progress = c.stamp
		} else if c.now() >= progress+int64(stall) && len(c.open) > 0 {
			return fmt.Errorf("nothing came for %v, %d calls are open", stall, len(c.open))
		}
	}
}

// mayStart says whether the server lets us send one more request now.
func (c *conn) mayStart(streams int) bool {
	return len(c.open) < min(streams, c.maxStreams) && c.away == nil &&
		c.sendWindow >= int64(len(c.req.message))
}

// start queues one request whose latency counts from the given time. mayStart must hold. The whole
// message goes out at once: a window for a new stream that is too small for it is an error.
func (c *conn) start(at int64, key int) error {
	size := len(c.req.message)
	if c.streamSend < int64(size) || size > maxFrame {
		return fmt.Errorf("the server accepts %d bytes on a new stream, a request has %d", c.streamSend, size)
	}
	if c.nextID > math.MaxInt32 {
		return errors.New("stream identifiers are used up")
	}
	id := c.nextID
	c.nextID += 2
	block := c.header.encode()
	c.out = appendFrame(c.out, http2.FrameHeaders, http2.FlagHeadersEndHeaders, id, len(block))
	c.out = append(c.out, block...)
	c.out = appendFrame(c.out, http2.FrameData, http2.FlagDataEndStream, id, size)
	c.out = c.req.appendTo(c.out, key)
	c.sendWindow -= int64(size)

	var cl *call
	if n := len(c.free); n > 0 {
		cl, c.free = c.free[n-1], c.free[:n-1]
	} else {
		cl = new(call)
	}
	*cl = call{start: at, message: cl.message[:0], status: -1}
	c.open[id] = cl
	return nil
}

// turn sends what is queued, waits until something can be read or until the given time, and
// consumes it. It returns the number of bytes that came. What these ask for, such as the answer to a
// ping, is sent at once and not with the next calls: so does Envoy, and it is one more thing that
// wakes the server up.
func (c *conn) turn(until int64) (int, error) {
	if err := c.flush(); err != nil {
		return 0, err
	}
	n, err := c.read(until)
	c.stamp = c.now()
	if n > 0 {
		c.w += n
		if err := c.consume(); err != nil {
			return n, err
		}
		if err := c.flush(); err != nil && c.away == nil { // having said goodbye, the server may be gone
			return n, err
		}
	}
	switch {
	case err == nil || errors.Is(err, os.ErrDeadlineExceeded):
		return n, nil
	case c.away != nil:
		return n, c.away
	case errors.Is(err, io.EOF):
		return n, errors.New("the server closed the connection")
	}
	return n, err
}

// flush blocks until the kernel has taken everything. A server that stops reading while it has
// answers to write would hold it: none does, their readers do not wait for their writers.
func (c *conn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.net.Write(c.out)
	c.out = c.out[:0]
	return err
}

func (c *conn) read(until int64) (int, error) {
	if !c.spin {
		if err := c.net.SetReadDeadline(c.base.Add(time.Duration(until))); err != nil {
			return 0, err
		}
		return c.net.Read(c.in[c.w:])
	}
	for {
		if err := c.raw.Read(c.poll); err != nil {
			return 0, err
		}
		switch {
		case c.pollN > 0:
			return c.pollN, nil
		case c.pollErr == nil:
			return 0, io.EOF
		case c.pollErr != unix.EAGAIN && c.pollErr != unix.EINTR:
			return 0, os.NewSyscallError("read", c.pollErr)
		case c.now() >= until:
			return 0, nil
		}
		runtime.Gosched() // other connections poll on the same thread
	}
}
