package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/localapi"
	"github.com/sidecard/sidecard/pkg/rule"
)

// memory is a listener whose connections are those of net.Pipe, which know deadlines.
type memory struct {
	conns chan net.Conn
	done  chan struct{}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { close(m.done); return nil }
func (m *memory) Addr() net.Addr { return &net.UnixAddr{} }

// dial returns the client's end of a new connection.
func (m *memory) dial() net.Conn {
	near, far := net.Pipe()
	m.conns <- near
	return far
}

// httpBubble serves the local API in the bubble around it, by a rule that has each call wait for a minute more
// than the one before, and ends with stop.
func httpBubble(t *testing.T) (m *memory, stop func()) {
	t.Helper()
	now := func() int64 { return time.Now().UnixNano() }
	e := engine.New(engine.Options{})
	set, problems := rule.Load([]rule.File{{Name: "gw-flow-rules.json", Data: []byte(
		`[{"resource": "queue", "id": "queue", "count": 1, "intervalSec": 60, "controlBehavior": 2, "maxQueueingTimeoutMs": 600000}]`)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Apply(now(), set); err != nil {
		t.Fatal(err)
	}
	room := calls.NewRoom(calls.Config{Engine: e, Now: now})
	server := newHTTPServer(localapi.New(localapi.Config{Engine: e, Now: now, Room: room}).Handler(), zerolog.Nop())
	m = &memory{conns: make(chan net.Conn), done: make(chan struct{})}
	var g group
	g.start(func() error { return serveHTTP(server, m, "http") })
	return m, func() {
		server.Close()
		g.wait()
	}
}

const postQueue = "POST /v1/decide HTTP/1.1\r\nHost: any\r\nContent-Length: 21\r\n\r\n" + `{"resource": "queue"}`

// An answer may be held for longer than a request may take to come, and the connection serves the next as well.
func TestHTTPHoldsForLongerThanItsTimeouts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, stop := httpBubble(t)
		defer stop()
		conn := m.dial()
		defer conn.Close()
		answers, began := bufio.NewReader(conn), time.Now()
		for i := range 3 {
			if _, err := io.WriteString(conn, postQueue); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatalf("answer %d: %v", i, err)
			}
			body, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), `"code":"pass"`) {
				t.Errorf("answer %d: got %d %s, %v", i, answer.StatusCode, body, err)
			}
			if waited := time.Since(began); waited != time.Duration(i)*time.Minute {
				t.Errorf("answer %d came after %v", i, waited)
			}
		}
	})
}

// A place in a queue whose client has gone goes to the next.
func TestHTTPClientsThatLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, stop := httpBubble(t)
		defer stop()
		began := time.Now()
		ask := func() (conn net.Conn, answered chan time.Duration) {
			conn, answered = m.dial(), make(chan time.Duration, 1)
			go func() {
				defer close(answered)
				if _, err := io.WriteString(conn, postQueue); err != nil {
					return
				}
				if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
					answered <- time.Since(began)
				}
			}()
			synctest.Wait()
			return conn, answered
		}
		first, at := ask()
		defer first.Close()
		if took, ok := <-at; took != 0 || !ok {
			t.Errorf("the first: got %v, %v", took, ok)
		}
		leaves, _ := ask()
		leaves.Close()
		synctest.Wait()
		next, at := ask()
		defer next.Close()
		if took, ok := <-at; took != time.Minute || !ok {
			t.Errorf("the next: got %v, %v, want the place of the one who left", took, ok)
		}
	})
}

// Clients that send nothing, or only a part, do not hold a connection for good.
func TestHTTPSilentClients(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent string
		most time.Duration
	}{
		"nothing":          {"", 5 * time.Second},
		"half a header":    {"POST /v1/decide HTT", 5 * time.Second},
		"half a body":      {postQueue[:len(postQueue)-3], 10 * time.Second},
		"a header too big": {"POST /v1/decide HTTP/1.1\r\nX: " + strings.Repeat("x", 32<<10), time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, stop := httpBubble(t)
				defer stop()
				conn := m.dial()
				began := time.Now()
				go io.WriteString(conn, c.sent)
				text, _ := io.ReadAll(conn) // until the server closes
				conn.Close()
				if took := time.Since(began); took > c.most {
					t.Errorf("closed after %v, with %q", took, text)
				}
			})
		})
	}
}
