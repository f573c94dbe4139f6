package listen

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/sidecard/sidecard/internal/testkit/certtest"
)

// A TCP address is served with TLS also where others can reach it; who cannot agree on a handshake is
// reported with its reason, once, and who only looks whether somebody listens is not.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t, "ca")
	cert, key, _ := ca.Issue(t)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan Refusal, 8)
	a := mustParse(t, "tcp::0")
	ln := mustListen(t, a, Options{TLS: &tls.Config{Certificates: []tls.Certificate{pair}}, Refused: func(r Refusal) { refused <- r }})
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	there := "127.0.0.1:" + port
	// serve reads and writes one connection, as servers do, and returns what it read.
	serve := func() (string, error) {
		conn, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		got := make([]byte, 5)
		n, err := io.ReadFull(conn, got)
		if err != nil {
			io.WriteString(conn, "late") // a second error of the same handshake
		}
		return string(got[:n]), err
	}

	sent := make(chan error, 1)
	go func() {
		conn, err := tls.Dial("tcp", there, &tls.Config{RootCAs: ca.Pool()})
		if err == nil {
			_, err = io.WriteString(conn, "hello")
			conn.Close()
		}
		sent <- err
	}()
	if got, err := serve(); got != "hello" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}

	for _, tc := range []struct {
		name, sends string
		refused     bool
	}{
		{"plain text", "GET / HTTP/1.1\r\n\r\n", true},
		{"nothing", "", false},
	} {
		conn, err := net.Dial("tcp", there)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, tc.sends); err != nil {
			t.Fatal(err)
		}
		conn.(*net.TCPConn).CloseWrite()
		if got, err := serve(); got != "" || err == nil {
			t.Errorf("%s: read %q, %v", tc.name, got, err)
		}
		conn.Close()
		select {
		case r := <-refused:
			var broken tls.RecordHeaderError
			if !tc.refused || r.Addr != a || r.Reason != ReasonTLS || !errors.As(r.Err, &broken) {
				t.Errorf("%s: refused %+v", tc.name, r)
			}
		default:
			if tc.refused {
				t.Errorf("%s: nobody is told", tc.name)
			}
		}
		if len(refused) > 0 {
			t.Errorf("%s: told twice", tc.name)
		}
	}
}
