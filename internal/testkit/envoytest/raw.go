package envoytest

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// Raw sends the bytes of one HTTP/1.1 request as they are, which no HTTP client would do with the
// bytes that an attacker sends, and reads the answer.
func Raw(ctx context.Context, address, request string) (Reply, error) {
	reply := Reply{Sent: time.Now()}
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return reply, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return reply, err
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return reply, err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return reply, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return reply, err
	}
	reply.Done = time.Now()
	reply.Status = response.StatusCode
	reply.Rule = DecidingRule(response.Header)
	return reply, nil
}
