package h2load

import (
	"bytes"
	"io"
	"math"
	"net"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// peer is a server written frame by frame, to do what grpc-go never does.
type peer struct {
	t   *testing.T
	fr  *http2.Framer
	enc *hpack.Encoder
	buf bytes.Buffer
	dec *hpack.Decoder

	sizeUpdates int // requests that began with an announcement of the header table's size
}

// pair returns a connection after the handshake and the peer at its other end.
func pair(t *testing.T, settings ...http2.Setting) (*conn, *peer) {
	t.Helper()
	ours, theirs := socketPair(t)
	p := &peer{t: t, fr: http2.NewFramer(theirs, theirs), dec: hpack.NewDecoder(4096, nil)}
	p.enc = hpack.NewEncoder(&p.buf)
	req, err := newRequest("shop", "orders")
	if err != nil {
		t.Fatal(err)
	}
	c, err := newConn(ours, req, Config{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- c.handshake() }()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(theirs, preface); err != nil || string(preface) != http2.ClientPreface {
		t.Fatalf("preface %q, %v", preface, err)
	}
	if err := p.fr.WriteSettings(settings...); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	want[*http2.SettingsFrame](p)
	if up := want[*http2.WindowUpdateFrame](p); up.StreamID != 0 || defaultWindow+up.Increment != ourWindow {
		t.Errorf("window update %v", up)
	}
	if ack := want[*http2.SettingsFrame](p); !ack.IsAck() {
		t.Errorf("%v instead of an acknowledgement", ack)
	}
	return c, p
}

func socketPair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	if ours, err = net.Dial("unix", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if theirs, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []io.Closer{l, ours, theirs} {
			_ = c.Close()
		}
	})
	return ours, theirs
}

// want reads the next frame, which must be an F.
func want[F http2.Frame](p *peer) F {
	p.t.Helper()
	f, err := p.fr.ReadFrame()
	if err != nil {
		p.t.Fatal(err)
	}
	got, ok := f.(F)
	if !ok {
		p.t.Fatalf("%v instead of a %T", f, got)
	}
	return got
}

// request reads one whole request and returns its stream and path.
func (p *peer) request() (id uint32, path string) {
	p.t.Helper()
	h := want[*http2.HeadersFrame](p)
	if h.HeaderBlockFragment()[0]&0xe0 == 0x20 {
		p.sizeUpdates++
	}
	fields, err := p.dec.DecodeFull(h.HeaderBlockFragment())
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range fields {
		if f.Name == ":path" {
			path = f.Value
		}
	}
	if d := want[*http2.DataFrame](p); d.StreamID != h.StreamID || !d.StreamEnded() {
		p.t.Errorf("data %v after %v", d, h)
	}
	return h.StreamID, path
}

func (p *peer) block(kv ...string) []byte {
	p.buf.Reset()
	for i := 0; i < len(kv); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: kv[i], Value: kv[i+1]})
	}
	return bytes.Clone(p.buf.Bytes())
}

func (p *peer) do(errs ...error) {
	p.t.Helper()
	for _, err := range errs {
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *peer) headers(id uint32, end bool, kv ...string) error {
	return p.fr.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: p.block(kv...), EndHeaders: true, EndStream: end,
	})
}

func (p *peer) answer(id uint32) {
	p.t.Helper()
	p.do(p.headers(id, false, ":status", "200", "content-type", "application/grpc"),
		p.fr.WriteData(id, false, okMessage),
		p.headers(id, true, "grpc-status", "0"))
}

var okMessage = []byte{0, 0, 0, 0, 2, 8, 1}

// drive runs a load beside the peer's script.
func drive(c *conn, l Load) (result func() (*Result, error)) {
	done := make(chan error, 1)
	calls := l.Calls
	go func() { done <- c.run(l, share{calls: calls}) }()
	return func() (*Result, error) { err := <-done; return &c.res, err }
}

// TestOddFraming answers one call in every shape that HTTP/2 allows.
func TestOddFraming(t *testing.T) {
	t.Parallel()
	c, p := pair(t)
	result := drive(c, Load{Calls: 1, Streams: 1, Keys: 1})
	id, path := p.request()
	if id != 1 || path != method {
		t.Errorf("stream %d, path %q", id, path)
	}
	head := p.block(":status", "200", "content-type", "application/grpc")
	p.do(
		p.fr.WritePing(false, [8]byte{1, 2, 3}),
		p.fr.WriteRawFrame(0xbe, 0xff, 77, []byte("an extension")),
		p.fr.WritePriority(1, http2.PriorityParam{Weight: 3}),
		p.fr.WriteHeaders(http2.HeadersFrameParam{
			StreamID: id, BlockFragment: head[:1], PadLength: 9, Priority: http2.PriorityParam{Weight: 9},
		}),
		p.fr.WriteContinuation(id, false, head[1:2]),
		p.fr.WriteContinuation(id, true, head[2:]),
	)
	for _, b := range okMessage {
		p.do(p.fr.WriteDataPadded(id, false, []byte{b}, make([]byte, 5)))
	}
	p.do(
		p.fr.WriteData(id, false, nil),
		p.fr.WriteHeaders(http2.HeadersFrameParam{
			StreamID: id, BlockFragment: p.block("grpc-status", "0"), EndHeaders: true, EndStream: true, PadLength: 1,
		}),
		p.fr.WriteRSTStream(id, http2.ErrCodeNo),
	)
	if ping := want[*http2.PingFrame](p); !ping.IsAck() || ping.Data != [8]byte{1, 2, 3} {
		t.Errorf("answer to a ping: %v", ping)
	}
	res, err := result()
	if err != nil || res.OK != 1 || res.Errors != 0 {
		t.Errorf("OK %d, errors %d (%v), %v", res.OK, res.Errors, res.FirstError, err)
	}
}

// TestSendWindow lets the connection's window run dry: exactly the requests that fit may come.
func TestSendWindow(t *testing.T) {
	t.Parallel()
	c, p := pair(t)
	size := len(c.req.message)
	fit := defaultWindow / size
	result := drive(c, Load{Calls: int64(fit) + 1, Streams: 1000, Keys: 1})
	for range fit {
		p.request()
	}
	// A ping whose answer comes next proves that no further request did.
	p.do(p.fr.WritePing(false, [8]byte{1}))
	want[*http2.PingFrame](p)
	need := uint32(size - defaultWindow%size)
	p.do(p.fr.WriteWindowUpdate(1, need), p.fr.WriteWindowUpdate(0, need-1), p.fr.WritePing(false, [8]byte{2}))
	want[*http2.PingFrame](p)
	p.do(p.fr.WriteWindowUpdate(0, 1))
	last, _ := p.request()
	for id := uint32(1); id <= last; id += 2 {
		p.answer(id)
	}
	if res, err := result(); err != nil || res.OK != int64(fit)+1 {
		t.Errorf("OK %d of %d, %v", res.OK, fit+1, err)
	}
}

// TestReceiveWindow counts what the connection may still be sent, padding included.
func TestReceiveWindow(t *testing.T) {
	t.Parallel()
	c, p := pair(t)
	const calls = 100
	result := drive(c, Load{Calls: calls, Streams: 1, Keys: 1})
	left := ourWindow
	long := make([]byte, 16000)
	for range calls {
		id, _ := p.request()
		p.do(p.headers(id, false, ":status", "200"))
		// After the overall code a field 15 of 15 990 bytes.
		m := append([]byte{0, 0, 0, 0x3e, 0x7b, 8, 1, 0x7a, 0xf6, 0x7c}, long[:15990]...)
		m[3], m[4] = byte((len(m)-5)>>8), byte(len(m)-5)
		p.do(p.fr.WriteDataPadded(id, false, m, make([]byte, 100)), p.headers(id, true, "grpc-status", "0"))
		left -= len(m) + 101
		if left <= ourWindow/2 {
			up := want[*http2.WindowUpdateFrame](p)
			left += int(up.Increment)
			if up.StreamID != 0 || left != ourWindow {
				t.Fatalf("%v leaves a window of %d", up, left)
			}
		}
	}
	if res, err := result(); err != nil || res.OK != calls {
		t.Errorf("OK %d (%v), %v", res.OK, res.FirstError, err)
	}
}

// TestSettingsChange shrinks the header table while calls go on: the next block must say so first,
// and the decoder at the other end checks it. The first table is either large enough for all fields
// or turned over by every request.
func TestSettingsChange(t *testing.T) {
	t.Parallel()
	for _, size := range []uint32{4096, 200} {
		c, p := pair(t, http2.Setting{ID: http2.SettingHeaderTableSize, Val: size})
		result := drive(c, Load{Calls: 9, Streams: 1, Keys: 1})
		for i := range 9 {
			id, path := p.request()
			if path != method {
				t.Errorf("request %d: path %q", i, path)
			}
			if i == 4 {
				p.do(p.fr.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0}))
				if ack := want[*http2.SettingsFrame](p); !ack.IsAck() {
					t.Errorf("%v", ack)
				}
				p.dec.SetAllowedMaxDynamicTableSize(0)
			}
			if p.sizeUpdates != min(i/5, 1) && size == 4096 {
				t.Errorf("request %d: %d announcements of the table size", i, p.sizeUpdates)
			}
			p.answer(id)
		}
		if res, err := result(); err != nil || res.OK != 9 {
			t.Errorf("OK %d (%v), %v", res.OK, res.FirstError, err)
		}
	}
}

// TestGoAwayDropsLaterStreams names stream 1 as the last: of three open calls two are lost.
func TestGoAwayDropsLaterStreams(t *testing.T) {
	t.Parallel()
	c, p := pair(t)
	result := drive(c, Load{Calls: 9, Streams: 3, Keys: 1})
	for range 3 {
		p.request()
	}
	p.do(p.fr.WriteGoAway(1, http2.ErrCodeEnhanceYourCalm, []byte("enough")))
	p.answer(1)
	res, err := result()
	if err == nil || !strings.Contains(err.Error(), `ENHANCE_YOUR_CALM "enough"`) {
		t.Errorf("error %v", err)
	}
	if res.OK != 1 || res.Errors != 2 {
		t.Errorf("OK %d, errors %d", res.OK, res.Errors)
	}
}

func TestTrailersOnlyAndReset(t *testing.T) {
	t.Parallel()
	c, p := pair(t)
	result := drive(c, Load{Calls: 4, Streams: 4, Keys: 1})
	for range 4 {
		p.request()
	}
	p.do(
		p.headers(7, true, ":status", "200", "grpc-status", "12", "grpc-message", "unknown service"),
		p.fr.WriteRSTStream(1, http2.ErrCodeRefusedStream),
		p.headers(3, true, ":status", "503"),
		p.headers(5, true, ":status", "200", "grpc-status", "none"),
	)
	res, err := result()
	if err != nil || res.Errors != 4 || res.OK != 0 {
		t.Fatalf("OK %d, errors %d, %v", res.OK, res.Errors, err)
	}
	if got, want := res.FirstError.Error(), "grpc status Unimplemented: unknown service"; got != want {
		t.Errorf("first error %q, want %q", got, want)
	}
}

// TestBrokenPeers sends what no server may: the connection must be given up, with a reason.
func TestBrokenPeers(t *testing.T) {
	t.Parallel()
	frame := func(typ http2.FrameType, flags http2.Flags, id uint32, payload ...byte) []byte {
		return append(appendFrame(nil, typ, flags, id, len(payload)), payload...)
	}
	setting := func(id http2.SettingID, v uint32) []byte {
		return frame(http2.FrameSettings, 0, 0, appendSetting(nil, id, v)...)
	}
	tests := []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"frame too long", []byte{0, 0x40, 1, 0, 0, 0, 0, 0, 1}, "FRAME_SIZE_ERROR"},
		{"data for a stream that is not open", frame(http2.FrameData, 0, 9), "STREAM_CLOSED"},
		{"headers for a stream that is not open", frame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 9), "STREAM_CLOSED"},
		{"unfinished headers on stream 0", frame(http2.FrameHeaders, 0, 0), "PROTOCOL_ERROR"},
		{"padding longer than data", frame(http2.FrameData, http2.FlagDataPadded, 1, 3, 0, 0), "PROTOCOL_ERROR"},
		{"padding without length", frame(http2.FrameData, http2.FlagDataPadded, 1), "PROTOCOL_ERROR"},
		{"padding longer than headers", frame(http2.FrameHeaders, http2.FlagHeadersPadded, 1, 9), "PROTOCOL_ERROR"},
		{"priority cut off", frame(http2.FrameHeaders, http2.FlagHeadersPriority, 1, 0, 0, 0, 0), "PROTOCOL_ERROR"},
		{"bad header block", frame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, 0xff, 0xff), "COMPRESSION_ERROR"},
		{"headers cut by data", append(frame(http2.FrameHeaders, 0, 1), frame(http2.FrameData, 0, 1)...), "PROTOCOL_ERROR"},
		{"continuation of nothing", frame(http2.FrameContinuation, 0, 1), "PROTOCOL_ERROR"},
		{"push", frame(http2.FramePushPromise, 0, 1, 0, 0, 0, 2), "PROTOCOL_ERROR"},
		{"short ping", frame(http2.FramePing, 0, 0, 1), "PROTOCOL_ERROR"},
		{"short reset", frame(http2.FrameRSTStream, 0, 1, 0), "PROTOCOL_ERROR"},
		{"reset of an idle stream", frame(http2.FrameRSTStream, 0, 5, 0, 0, 0, 0), "PROTOCOL_ERROR"},
		{"short goaway", frame(http2.FrameGoAway, 0, 0, 0), "PROTOCOL_ERROR"},
		{"settings of odd length", frame(http2.FrameSettings, 0, 0, 1), "PROTOCOL_ERROR"},
		{"settings on a stream", frame(http2.FrameSettings, 0, 1), "PROTOCOL_ERROR"},
		{"acknowledgement with settings", frame(http2.FrameSettings, http2.FlagSettingsAck, 0, 0, 4, 0, 0, 0, 0), "PROTOCOL_ERROR"},
		{"initial window too large", setting(http2.SettingInitialWindowSize, 1<<31), "FLOW_CONTROL_ERROR"},
		{"frame size too small", setting(http2.SettingMaxFrameSize, 1), "PROTOCOL_ERROR"},
		{"window update of nothing", frame(http2.FrameWindowUpdate, 0, 0, 0, 0, 0, 0), "PROTOCOL_ERROR"},
		{"short window update", frame(http2.FrameWindowUpdate, 0, 0, 1), "FRAME_SIZE_ERROR"},
		{"window too large", frame(http2.FrameWindowUpdate, 0, 0, 0x7f, 0xff, 0xff, 0xff), "FLOW_CONTROL_ERROR"},
		{"answer too long", bytes.Repeat(frame(http2.FrameData, 0, 1, make([]byte, maxFrame)...), 5), "ENHANCE_YOUR_CALM"},
		{"data beyond the window", bytes.Repeat(frame(http2.FrameData, http2.FlagDataPadded, 1,
			append([]byte{255}, make([]byte, 255)...)...), ourWindow/256+1), "FLOW_CONTROL_ERROR"},
		{"endless continuation", append(frame(http2.FrameHeaders, 0, 1),
			bytes.Repeat(frame(http2.FrameContinuation, 0, 1, make([]byte, maxFrame)...), 5)...), "ENHANCE_YOUR_CALM"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := loose(t)
			err := c.feed(tt.bytes)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want+": ") {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestFirstFrameMustBeSettings(t *testing.T) {
	t.Parallel()
	for _, f := range [][]byte{
		appendFrame(nil, http2.FrameSettings, http2.FlagSettingsAck, 0, 0),
		append(appendFrame(nil, http2.FramePing, 0, 0, 8), make([]byte, 8)...),
	} {
		c := loose(t)
		c.settled = false
		if err := c.feed(f); err == nil {
			t.Errorf("no error for % x", f)
		}
	}
}

func TestSmallStreamWindowIsAnError(t *testing.T) {
	t.Parallel()
	c := loose(t)
	c.streamSend = int64(len(c.req.message)) - 1
	if err := c.start(0, 0); err == nil {
		t.Error("a request went out that does not fit into its stream's window")
	}
}

func TestStreamIdentifiersRunOut(t *testing.T) {
	t.Parallel()
	c := loose(t)
	c.nextID = math.MaxInt32
	if err := c.start(0, 0); err != nil {
		t.Errorf("the last stream: %v", err)
	}
	if err := c.start(0, 0); err == nil {
		t.Error("a stream above 2^31-1")
	}
}

// loose is a connection to nobody, with settings exchanged and stream 1 open.
func loose(t testing.TB) *conn {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	req, err := newRequest("shop", "orders")
	if err != nil {
		t.Fatal(err)
	}
	c := newConnState(ours, nil, req, Config{})
	c.settled = true
	if err := c.start(0, 0); err != nil {
		t.Fatal(err)
	}
	return c
}

// feed hands bytes over as if they had been read, a buffer at a time.
func (c *conn) feed(b []byte) error {
	for len(b) > 0 {
		n := copy(c.in[c.w:], b)
		b = b[n:]
		c.w += n
		if err := c.consume(); err != nil {
			return err
		}
	}
	return nil
}

// FuzzConsume feeds bytes in two pieces: no panic, whatever they are, and no call both open and
// counted.
func FuzzConsume(f *testing.F) {
	f.Add([]byte{}, 0)
	answer := append(appendFrame(nil, http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, 1), 0x88)
	answer = append(appendFrame(answer, http2.FrameData, 0, 1, len(okMessage)), okMessage...)
	answer = appendFrame(answer, http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, 1, 14)
	answer = append(answer, "\x00\x0bgrpc-status\x010"[:14]...)
	f.Add(answer, 12)
	f.Add(appendWindowUpdate(appendFrame(nil, http2.FrameSettings, 0, 0, 0), 5), 3)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		c := loose(t)
		cut = min(max(cut, 0), len(b))
		if c.feed(b[:cut]) == nil {
			_ = c.feed(b[cut:])
		}
		if got := c.res.Answers() + c.res.Errors + int64(len(c.open)); got != 1 {
			t.Errorf("one call counts %d times", got)
		}
	})
}

// exchange is one call and its answer in memory: what the client costs without the kernel.
func exchange(t testing.TB) func() {
	c := loose(t)
	c.open = map[uint32]*call{}
	var buf bytes.Buffer
	enc := hpack.NewEncoder(&buf)
	field := func(name, value string) { _ = enc.WriteField(hpack.HeaderField{Name: name, Value: value}) }
	var answer []byte
	return func() {
		if err := c.start(c.stamp, 7); err != nil {
			t.Fatal(err)
		}
		id := c.nextID - 2
		buf.Reset()
		field(":status", "200")
		field("content-type", "application/grpc")
		answer = appendFrame(answer[:0], http2.FrameHeaders, http2.FlagHeadersEndHeaders, id, buf.Len())
		answer = append(answer, buf.Bytes()...)
		answer = appendFrame(answer, http2.FrameData, 0, id, len(okMessage))
		answer = append(answer, okMessage...)
		buf.Reset()
		field("grpc-status", "0")
		field("grpc-message", "")
		answer = appendFrame(answer, http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, id, buf.Len())
		answer = append(answer, buf.Bytes()...)
		c.out = c.out[:0]
		c.sendWindow = defaultWindow
		if err := c.feed(answer); err != nil {
			t.Fatal(err)
		}
		if len(c.open) > 0 || c.res.Errors > 0 {
			t.Fatal("not answered", c.res.FirstError)
		}
	}
}

func TestCallsDoNotAllocate(t *testing.T) {
	one := exchange(t)
	one()
	if n := testing.AllocsPerRun(1000, one); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

func BenchmarkCall(b *testing.B) {
	b.ReportAllocs()
	one := exchange(b)
	for b.Loop() {
		one()
	}
}
