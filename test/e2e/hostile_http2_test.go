//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// http2Row is an input given as the header fields of an HTTP/2 request, which no client checks.
type http2Row struct {
	what   string
	fields []hpack.HeaderField
	want   string
}

func http2Table(t *testing.T, s *envoytest.Stack, rows []http2Row) []hostileRow {
	table := make([]hostileRow, len(rows))
	for i, r := range rows {
		table[i] = hostileRow{what: r.what, sent: abridgedFields(r.fields), want: r.want, send: func() (hostileAnswer, error) {
			return sendFields(t, s.Address, r.fields)
		}}
	}
	return table
}

func abridgedFields(fields []hpack.HeaderField) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f.Name + ": " + f.Value + "\n")
	}
	return abridged(b.String())
}

// sendFields sends one request on a connection of its own and reads the answer.
func sendFields(t *testing.T, address string, fields []hpack.HeaderField) (hostileAnswer, error) {
	conn, err := dial(t, address)
	if err != nil {
		return hostileAnswer{}, err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return hostileAnswer{}, err
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := errors.Join(framer.WriteSettings(), writeFields(framer, fields)); err != nil {
		return hostileAnswer{}, err
	}
	return readAnswer(framer)
}

// writeFields sends the fields in as many frames as they need.
func writeFields(framer *http2.Framer, fields []hpack.HeaderField) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range fields {
		if err := encoder.WriteField(f); err != nil {
			return err
		}
	}
	const most = 16 << 10
	err := framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: 1, EndStream: true, BlockFragment: block.Next(most), EndHeaders: block.Len() == 0,
	})
	for err == nil && block.Len() > 0 {
		fragment := block.Next(most)
		err = framer.WriteContinuation(1, block.Len() == 0, fragment)
	}
	return err
}

// readAnswer reads frames until the stream or the connection ends.
func readAnswer(framer *http2.Framer) (hostileAnswer, error) {
	var answer hostileAnswer
	var body []byte
	for {
		frame, err := framer.ReadFrame()
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			return hostileAnswer{broken: closed}, nil
		}
		if err != nil {
			return hostileAnswer{}, err
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				if err := framer.WriteSettingsAck(); err != nil {
					return hostileAnswer{broken: closed}, nil
				}
			}
		case *http2.MetaHeadersFrame:
			if answer, err = answerOf(f); err != nil {
				return answer, err
			}
		case *http2.DataFrame:
			body = append(body, f.Data()...)
		case *http2.RSTStreamFrame:
			return hostileAnswer{broken: streamReset}, nil
		case *http2.GoAwayFrame:
			return hostileAnswer{broken: closed}, nil
		}
		if header := frame.Header(); header.StreamID == 1 && header.Flags.Has(http2.FlagDataEndStream) {
			answer.reason = reasonIn(body)
			return answer, nil
		}
	}
}

func answerOf(f *http2.MetaHeadersFrame) (hostileAnswer, error) {
	header := make(http.Header)
	for _, field := range f.RegularFields() {
		header.Add(field.Name, field.Value)
	}
	status, err := strconv.Atoi(f.PseudoValue("status"))
	return hostileAnswer{status: status, rule: envoytest.DecidingRule(header), location: header.Get("Location")}, err
}

// fields makes a request to shop.example; more are names and values in turn. One that is among the
// first four replaces it there.
func fields(path string, more ...string) []hpack.HeaderField {
	request := []hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "shop.example"}, {Name: ":path", Value: path},
	}
	for i := 0; i < len(more); i += 2 {
		at := slices.IndexFunc(request[:4], func(f hpack.HeaderField) bool { return f.Name == more[i] })
		if at >= 0 {
			request[at].Value = more[i+1]
			continue
		}
		request = append(request, hpack.HeaderField{Name: more[i], Value: more[i+1]})
	}
	return request
}

// without drops a pseudo-header.
func without(name string, request []hpack.HeaderField) []hpack.HeaderField {
	return slices.DeleteFunc(request, func(f hpack.HeaderField) bool { return f.Name == name })
}

// with appends a field as it is.
func with(request []hpack.HeaderField, name, value string) []hpack.HeaderField {
	return append(request, hpack.HeaderField{Name: name, Value: value})
}

func TestHostileHTTP2(t *testing.T) {
	t.Parallel()
	s := ready(t, hostileRules(t))
	hostileRun(t, s, http2Table(t, s, slices.Concat(http2Headers(), http2Cookies(), http2Paths(), http2Hosts(), http2Targets())))
}
