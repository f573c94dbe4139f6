//go:build e2e

package e2e

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// http1Row is an input given as the bytes of an HTTP/1.1 request.
type http1Row struct{ what, sent, want string }

func http1Table(t *testing.T, s *envoytest.Stack, rows []http1Row) []hostileRow {
	table := make([]hostileRow, len(rows))
	for i, r := range rows {
		table[i] = hostileRow{what: r.what, sent: abridged(r.sent), want: r.want, send: func() (hostileAnswer, error) {
			return sendBytes(t, s.Address, r.sent)
		}}
	}
	return table
}

// sendBytes sends bytes on a connection of their own and reads the answer.
func sendBytes(t *testing.T, address, bytes string) (hostileAnswer, error) {
	conn, err := dial(t, address)
	if err != nil {
		return hostileAnswer{}, err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, bytes); err != nil {
		return hostileAnswer{}, err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return hostileAnswer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return hostileAnswer{}, err
	}
	return hostileAnswer{
		status:   response.StatusCode,
		rule:     envoytest.DecidingRule(response.Header),
		reason:   reasonIn(body),
		location: response.Header.Get("Location"),
	}, nil
}

func dial(t *testing.T, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: limit}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(limit))
}

// get is a request whose host is shop.example.
func get(target string, headers ...string) string { return method("GET", target, headers...) }

func method(name, target string, headers ...string) string {
	return name + " " + target + " HTTP/1.1\r\nHost: shop.example\r\n" + lines(headers) + "\r\n"
}

// to is a request to a host.
func to(host, target string, headers ...string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + lines(headers) + "\r\n"
}

func lines(headers []string) string {
	var b strings.Builder
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	return b.String()
}

func TestHostileHTTP1(t *testing.T) {
	t.Parallel()
	s := ready(t, hostileRules(t))
	hostileRun(t, s, http1Table(t, s, slices.Concat(http1Headers(), http1Cookies(), http1Queries(), http1Paths(),
		http1Hosts(), http1Clients(), http1Targets(), http1Missing())))
}
