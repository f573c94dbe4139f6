package h2load

import (
	"encoding/binary"

	"fmt"
	"time"

	"golang.org/x/net/http2"
)

// connError is a reason to give the connection up: the server broke the protocol.
type connError struct {
	code http2.ErrCode
	what string
}

func (e connError) Error() string { return fmt.Sprintf("%v: %s", e.code, e.what) }

func protocol(what string) error { return connError{http2.ErrCodeProtocol, what} }

// consume handles all whole frames that have been received and keeps the rest. The buffer is
// larger than any frame, so there is always room to read on.
func (c *conn) consume() error {
	for c.w-c.r >= frameHeader {
		b := c.in[c.r:c.w]
		size := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		if size > maxFrame {
			return connError{http2.ErrCodeFrameSize, fmt.Sprintf("frame of %d bytes", size)}
		}
		if len(b) < frameHeader+size {
			break
		}
		typ, flags := http2.FrameType(b[3]), http2.Flags(b[4])
		id := binary.BigEndian.Uint32(b[5:]) &^ (1 << 31)
		if err := c.frame(typ, flags, id, b[frameHeader:frameHeader+size]); err != nil {
			return err
		}
		c.r += frameHeader + size
	}
	c.w = copy(c.in, c.in[c.r:c.w])
	c.r = 0
	return nil
}

// frame handles one frame. Its payload is valid only during the call.
func (c *conn) frame(typ http2.FrameType, flags http2.Flags, id uint32, p []byte) error {
	if c.partialID != 0 && (typ != http2.FrameContinuation || id != c.partialID) {
		return protocol("a header block is not complete")
	}
	if !c.settled && typ != http2.FrameSettings {
		return protocol("the first frame is not SETTINGS")
	}
	switch typ {
	case http2.FrameData:
		return c.data(flags, id, p)
	case http2.FrameHeaders:
		return c.headers(flags, id, p)
	case http2.FrameContinuation:
		return c.continuation(flags, id, p)
	case http2.FrameRSTStream:
		return c.reset(id, p)
	case http2.FrameSettings:
		return c.settings(flags, id, p)
	case http2.FramePushPromise:
		return protocol("PUSH_PROMISE, which we have switched off")
	case http2.FramePing:
		if id != 0 || len(p) != 8 {
			return protocol("bad PING")
		}
		if !flags.Has(http2.FlagPingAck) {
			c.out = appendFrame(c.out, http2.FramePing, http2.FlagPingAck, 0, len(p))
			c.out = append(c.out, p...)
		}
		return nil
	case http2.FrameGoAway:
		return c.goAway(id, p)
	case http2.FrameWindowUpdate:
		return c.windowUpdate(id, p)
	}
	return nil // PRIORITY, and whatever else may be added to HTTP/2
}

// stream returns the open call of a stream. Calls leave only when the server has ended them, so it
// has no reason to speak of others.
func (c *conn) stream(id uint32) (*call, error) {
	cl, ok := c.open[id]
	if !ok {
		return nil, connError{http2.ErrCodeStreamClosed, fmt.Sprintf("frame for stream %d, which is not open", id)}
	}
	return cl, nil
}

func (c *conn) data(flags http2.Flags, id uint32, p []byte) error {
	cl, err := c.stream(id)
	if err != nil {
		return err
	}
	// Padding counts too.
	n := int64(len(p))
	c.recvWindow -= n
	cl.received += n
	if c.recvWindow < 0 || cl.received > ourWindow {
		return connError{http2.ErrCodeFlowControl, "more data than the window allows"}
	}
	if c.used += n; c.used >= ourWindow/2 {
		c.out = appendWindowUpdate(c.out, uint32(c.used))
		c.recvWindow += c.used
		c.used = 0
	}
	if p, err = unpad(p, flags.Has(http2.FlagDataPadded)); err != nil {
		return err
	}
	if len(cl.message)+len(p) > maxMessage {
		return connError{http2.ErrCodeEnhanceYourCalm, "answer is too long"}
	}
	cl.message = append(cl.message, p...)
	if flags.Has(http2.FlagDataEndStream) {
		c.finish(id, cl)
	}
	return nil
}

func (c *conn) headers(flags http2.Flags, id uint32, p []byte) error {
	p, err := unpad(p, flags.Has(http2.FlagHeadersPadded))
	if err != nil {
		return err
	}
	if flags.Has(http2.FlagHeadersPriority) {
		if len(p) < 5 {
			return protocol("HEADERS too short for its priority")
		}
		p = p[5:]
	}
	end := flags.Has(http2.FlagHeadersEndStream)
	if flags.Has(http2.FlagHeadersEndHeaders) {
		return c.block(id, p, end)
	}
	if id == 0 {
		return protocol("HEADERS without a stream")
	}
	c.partial = append(c.partial[:0], p...)
	c.partialID, c.partialEnd = id, end
	return nil
}

func (c *conn) continuation(flags http2.Flags, id uint32, p []byte) error {
	if c.partialID == 0 {
		return protocol("CONTINUATION of nothing")
	}
	if len(c.partial)+len(p) > maxMessage {
		return connError{http2.ErrCodeEnhanceYourCalm, "header block is too long"}
	}
	c.partial = append(c.partial, p...)
	if !flags.Has(http2.FlagContinuationEndHeaders) {
		return nil
	}
	c.partialID = 0
	return c.block(id, c.partial, c.partialEnd)
}

// block handles a complete header block: the first of an answer or its trailers.
func (c *conn) block(id uint32, p []byte, end bool) error {
	cl, err := c.stream(id)
	if err != nil {
		return err
	}
	c.fields.call = cl
	if _, err := c.dec.Write(p); err != nil {
		return connError{http2.ErrCodeCompression, err.Error()}
	}
	if err := c.dec.Close(); err != nil {
		return connError{http2.ErrCodeCompression, err.Error()}
	}
	if end {
		c.finish(id, cl)
	}
	return nil
}

// reset ends a call that the server gives up. It may also follow an answer that the server gave
// before it had read the request.
func (c *conn) reset(id uint32, p []byte) error {
	if len(p) != 4 || id == 0 || id >= c.nextID {
		return protocol("bad RST_STREAM")
	}
	if cl, ok := c.open[id]; ok {
		c.res.fail(fmt.Errorf("stream reset: %v", http2.ErrCode(binary.BigEndian.Uint32(p))))
		c.release(id, cl)
	}
	return nil
}

func (c *conn) settings(flags http2.Flags, id uint32, p []byte) error {
	ack := flags.Has(http2.FlagSettingsAck)
	if id != 0 || len(p)%6 != 0 || ack && len(p) > 0 {
		return protocol("bad SETTINGS")
	}
	if ack {
		if !c.settled {
			return protocol("the first frame acknowledges settings")
		}
		return nil
	}
	for ; len(p) > 0; p = p[6:] {
		v := binary.BigEndian.Uint32(p[2:])
		switch http2.SettingID(binary.BigEndian.Uint16(p)) {
		case http2.SettingHeaderTableSize:
			c.header.limit(v)
		case http2.SettingMaxConcurrentStreams:
			c.maxStreams = int(v)
		case http2.SettingInitialWindowSize:
			if v > 1<<31-1 {
				return connError{http2.ErrCodeFlowControl, "initial window above 2^31-1"}
			}
			c.streamSend = int64(v)
		case http2.SettingMaxFrameSize:
			if v < maxFrame || v > 1<<24-1 {
				return protocol("bad maximum frame size")
			}
		}
	}
	c.settled = true
	c.out = appendFrame(c.out, http2.FrameSettings, http2.FlagSettingsAck, 0, 0)
	return nil
}

// goAway stops new calls. Those above the last stream the server names will not be answered.
func (c *conn) goAway(id uint32, p []byte) error {
	if id != 0 || len(p) < 8 {
		return protocol("bad GOAWAY")
	}
	last := binary.BigEndian.Uint32(p) &^ (1 << 31)
	c.away = fmt.Errorf("the server is going away: %v %q", http2.ErrCode(binary.BigEndian.Uint32(p[4:])), p[8:])
	for id, cl := range c.open {
		if id > last {
			c.res.fail(c.away)
			c.release(id, cl)
		}
	}
	return nil
}

func (c *conn) windowUpdate(id uint32, p []byte) error {
	if len(p) != 4 {
		return connError{http2.ErrCodeFrameSize, "WINDOW_UPDATE"}
	}
	n := int64(binary.BigEndian.Uint32(p) &^ (1 << 31))
	if n == 0 {
		return protocol("WINDOW_UPDATE of nothing")
	}
	if id != 0 {
		return nil // a request goes out whole, its stream needs no more room
	}
	if c.sendWindow += n; c.sendWindow > 1<<31-1 {
		return connError{http2.ErrCodeFlowControl, "window above 2^31-1"}
	}
	return nil
}

// finish counts a call whose stream the server has ended.
func (c *conn) finish(id uint32, cl *call) {
	if over, err := cl.answer(); err != nil {
		c.res.fail(err)
	} else {
		if over {
			c.res.OverLimit++
		} else {
			c.res.OK++
		}
		c.res.Latency.Record(time.Duration(c.stamp - cl.start))
	}
	c.release(id, cl)
}

func (c *conn) release(id uint32, cl *call) {
	delete(c.open, id)
	c.free = append(c.free, cl)
}
