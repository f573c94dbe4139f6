package ratelimitsvc

import (
	"context"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// One rule of 3 for a route and an API group, and one of 2 for every value of each kind of parameter.
const hostileRules = `[
	{"resource": "r", "id": "r", "count": 3, "intervalSec": 60, "window": "strict"},
	{"resource": "admin", "id": "admin", "resourceMode": 1, "count": 1, "intervalSec": 60},
	{"resource": "user", "id": "user", "count": 2, "intervalSec": 60, "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}},
	{"resource": "sku", "id": "sku", "count": 2, "intervalSec": 60, "paramItem": {"parseStrategy": "url_param", "fieldName": "sku"}},
	{"resource": "sid", "id": "sid", "count": 2, "intervalSec": 60, "paramItem": {"parseStrategy": "cookie", "fieldName": "sid"}},
	{"resource": "host", "id": "host", "count": 2, "intervalSec": 60, "paramItem": {"parseStrategy": "host"}},
	{"resource": "ip", "id": "ip", "count": 2, "intervalSec": 60, "paramItem": {"parseStrategy": "client_ip"}}
]`

// rawEntry, rawDescriptor and rawRequest write messages whose strings may be any bytes.
func rawEntry(key, value string) []byte {
	return protoBytes(1, protoCat(protoBytes(1, key), protoBytes(2, value)))
}

func rawDescriptor(fields ...[]byte) []byte { return protoBytes(2, protoCat(fields...)) }

func rawRequest(fields ...[]byte) []byte {
	return protoCat(append([][]byte{protoBytes(1, "sidecard")}, fields...)...)
}

// rawAsk is a request for the route r with more in its descriptor.
func rawAsk(fields ...[]byte) []byte {
	return rawRequest(rawDescriptor(append([][]byte{rawEntry("route", "r")}, fields...)...))
}

// rawAttributes is a request with one descriptor of keys and values.
func rawAttributes(kv ...string) []byte {
	var entries [][]byte
	for i := 0; i < len(kv); i += 2 {
		entries = append(entries, rawEntry(kv[i], kv[i+1]))
	}
	return rawRequest(rawDescriptor(entries...))
}

// ofSize is a request of exactly n bytes: a long value that a rule limits.
func ofSize(n int) []byte {
	value := n
	for {
		b := rawAttributes("route", "user", "header.x-user-id", strings.Repeat("x", value))
		if len(b) == n {
			return b
		}
		value -= len(b) - n
	}
}

type hostileCase struct {
	name  string
	wire  []byte
	times int // that it is sent; 0: once
	want  string
}

func repeat(b []byte, n int) []byte { return []byte(strings.Repeat(string(b), n)) }

// What only the configuration of the client can cause is INVALID_ARGUMENT.
func hostileFraming() []hostileCase {
	const invalid = "InvalidArgument"
	good := rawAsk()
	deep := func(n int) []byte { // groups in groups, all well-formed
		return protoCat(repeat([]byte{9<<3 | 3}, n), repeat([]byte{9<<3 | 4}, n))
	}
	return []hostileCase{
		{"no bytes", nil, 0, invalid},
		{"cut within the domain", good[:5], 0, invalid},
		{"cut within a descriptor", good[:len(good)-1], 0, invalid},
		{"cut after a tag", append(rawRequest(), 0x12), 0, invalid},
		{"cut within a number", append(rawRequest(), 0x18, 0x80), 0, invalid},
		{"a length beyond the end", append(rawRequest(), 0x12, 0x7f, 0x0a), 0, invalid},
		{"a length beyond 63 bits", append(rawRequest(), 0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), 0, invalid},
		{"an entry longer than its descriptor", rawRequest(protoBytes(2, []byte{0x0a, 0x05, 0x0a, 0x01})), 0, invalid},
		{"a number of 11 bytes", append(rawRequest(), 0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01), 0, invalid},
		{"a number above 64 bits", append(rawRequest(), 0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02), 0, invalid},
		{"a number in ten bytes where one would do", protoCat(good, []byte{0x18, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}), 0, "OK: OK 2/3 1m6s"},
		{"bytes after the end", append(append([]byte{}, good...), 0xff), 0, invalid},
		{"text instead of a message", []byte("GET / HTTP/1.1\r\nhost: x\r\n\r\n"), 0, invalid},
		{"field number 0", append(rawRequest(), 0x00, 0x01), 0, invalid},
		{"wire type 7", append(rawRequest(), 0x0f), 0, invalid},
		{"unknown fields of every type", protoCat(protoNumber(99, math.MaxUint64), good, protoBytes(1000, "\xff\x00"), []byte{9<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8, 9<<3 | 5, 1, 2, 3, 4}), 0, "OK: OK 2/3 1m6s"},
		{"unknown fields everywhere", rawAsk(protoBytes(1, protoCat(protoBytes(1, "k"), protoNumber(7, 1), protoGroup(8, nil))), protoBytes(2, protoNumber(9, 1)), protoBytes(3, protoCat(protoNumber(1, 1), protoBytes(2, "x"))), protoBytes(15, "x")), 0, "OK: OK 2/3 1m6s"},
		{"known fields in other types", protoCat(protoNumber(1, 7), good, protoNumber(2, 7), protoBytes(3, "x"), protoGroup(2, protoBytes(1, "x"))), 0, "OK: OK 2/3 1m6s"},
		{"a group", protoCat(protoGroup(9, protoCat(protoNumber(1, 1), protoGroup(2, nil))), good), 0, "OK: OK 2/3 1m6s"},
		{"10 000 groups within each other", protoCat(deep(10_000), good), 0, "OK: OK 2/3 1m6s"},
		{"10 002 groups within each other", protoCat(deep(10_002), good), 0, invalid},
		{"a million groups within each other", protoCat(deep(1_000_000), good), 0, invalid},
		{"a million groups that begin", protoCat(good, repeat([]byte{9<<3 | 3}, 1_000_000)), 0, invalid},
		{"a group without end", append(rawRequest(), 9<<3|3, 0x08, 0x01), 0, invalid},
		{"an end without group", append(rawRequest(), 9<<3|4), 0, invalid},
		{"a group with the end of another", append(rawRequest(), 9<<3|3, 10<<3|4), 0, invalid},
		{"no domain", protoCat(rawDescriptor(rawEntry("route", "r"))), 0, invalid},
		{"an empty domain", protoCat(protoBytes(1, ""), rawDescriptor(rawEntry("route", "r"))), 0, invalid},
		{"two domains, the last empty", protoCat(good, protoBytes(1, "")), 0, invalid},
		{"two domains, the first empty", protoCat(protoBytes(1, ""), good), 0, "OK: OK 2/3 1m6s"},
		{"64 descriptors", rawRequest(repeat(rawDescriptor(rawEntry("route", "r"), protoBytes(3, "")), 64)), 0, "OK: " + strings.Repeat(", OK 3/3", 64)[2:]},
		{"65 descriptors", rawRequest(repeat(rawDescriptor(rawEntry("route", "r")), 65)), 0, invalid},
		{"65 empty descriptors", rawRequest(repeat(rawDescriptor(), 65)), 0, invalid},
		{"64 entries", rawAsk(repeat(rawEntry("k", "v"), 63)), 0, "OK: OK 2/3 1m6s"},
		{"65 entries", rawAsk(repeat(rawEntry("k", "v"), 64)), 0, invalid},
		{"a message of 4 MiB", ofSize(4 << 20), 3, "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
		{"a message of 4 MiB and a byte", ofSize(4<<20 + 1), 0, "ResourceExhausted"},
	}
}

// What is in the fields is decided, whatever it is.
func hostileFields() []hostileCase {
	hits := func(n uint64) []byte { return protoBytes(3, protoNumber(1, n)) }
	limit := func(fields ...[]byte) []byte { return protoBytes(2, protoCat(fields...)) }
	const one, never = "OK: OK 2/3 1m6s", "OVER_LIMIT: OVER_LIMIT 0/3"
	return []hostileCase{
		{"no descriptor", rawRequest(), 0, "OK: "},
		{"an empty descriptor", rawRequest(rawDescriptor()), 0, "OK: OK"},
		{"an empty descriptor among others", rawRequest(rawDescriptor(), rawDescriptor(rawEntry("route", "r")), rawDescriptor()), 0, "OK: OK, OK 2/3 1m6s, OK"},
		{"an empty entry", rawAsk(protoBytes(1, "")), 0, one},
		{"an empty key", rawAsk(rawEntry("", "x")), 0, one},
		{"an empty value", rawAttributes("route", "user", "header.x-user-id", ""), 3, "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
		{"a key twice, the first counts", rawAttributes("route", "r", "route", "nowhere"), 0, one},
		{"a key twice, the first empty", rawAttributes("route", "", "route", "r"), 0, "OK: OK"},
		{"a parameter twice, the first counts", rawAttributes("route", "user", "header.x-user-id", "a", "header.x-user-id", "b"), 3, "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
		{"hits 2^63", rawAsk(hits(1 << 63)), 0, never},
		{"hits 2^64-1", rawAsk(hits(math.MaxUint64)), 0, never},
		{"hits 2^63 twice", rawRequest(repeat(rawDescriptor(rawEntry("route", "r"), hits(1<<63)), 2)), 0, never + ", OVER_LIMIT 0/3"},
		{"hits of the request 2^32-1", append(rawAsk(), protoNumber(3, math.MaxUint32)...), 0, never},
		{"hits of the request 2^32, of which 32 bits count: none, so one", append(rawAsk(), protoNumber(3, 1<<32)...), 0, one},
		{"hits 0, a peek", rawAsk(hits(0)), 5, "OK: OK 3/3"},
		{"negative hits 0", rawAsk(hits(0), protoNumber(4, 1)), 0, "OK: OK"},
		{"negative hits 2^64-1", rawAsk(hits(math.MaxUint64), protoNumber(4, 1)), 0, "OK: OK 3/3"},
		{"negative, written as 2^63", rawAsk(hits(1), protoNumber(4, 1<<63)), 0, "OK: OK 3/3"},
		{"override with unit 0", rawAsk(limit(protoNumber(1, 1), protoNumber(2, 0))), 2, "OK: OK 1/3 1m6s"},
		{"override without unit", rawAsk(limit(protoNumber(1, 1))), 2, "OK: OK 1/3 1m6s"},
		{"override with unknown unit", rawAsk(limit(protoNumber(1, 1), protoNumber(2, 99))), 2, "OK: OK 1/3 1m6s"},
		{"override with unit -1", rawAsk(limit(protoNumber(1, 1), protoNumber(2, math.MaxUint64))), 2, "OK: OK 1/3 1m6s"},
		{"override with multiplier 0", rawAsk(limit(protoNumber(1, 0), protoNumber(2, 1), protoBytes(3, ""))), 2, "OK: OK 1/3 1m6s"},
		{"override with nothing in it", rawAsk(limit()), 2, "OK: OK 1/3 1m6s"},
		{"a report nobody asked for", rawAttributes("sidecard.token", "x\xff", "sidecard.code", "-1", "route", "r"), 9, "OK: OK"},
	}
}

// Bytes in every attribute: the value is what it is, in a budget of its own.
func hostileBytes() []hostileCase {
	var out []hostileCase
	for _, b := range [][2]string{{"invalid UTF-8", "a\xff\xfe"}, {"NUL", "a\x00b"}, {"CR and LF", "a\r\nx: y"}, {"surrogates", "\xed\xa0\x80"}} {
		name, bytes := b[0], b[1]
		for _, c := range []struct {
			key  string
			more []string // the other attributes
			want string   // of the third time
		}{
			{"header.x-user-id", []string{"route", "user"}, "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
			{"x-user-id", []string{"route", "user"}, "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
			{"query.sku", []string{"route", "sku"}, "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
			{"cookie.sid", []string{"route", "sid"}, "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
			{"host", []string{"route", "host"}, "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
			{":authority", []string{"route", "host"}, "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
			{"remote_address", []string{"route", "ip"}, "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
			{"masked_remote_address", []string{"route", "ip"}, "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
			{"path", []string{"route", "r"}, "OK: OK 0/3 1m6s"},
			{":path", []string{"route", "r"}, "OK: OK 0/3 1m6s"},
			{"method", []string{"route", "r"}, "OK: OK 0/3 1m6s"},
			{":method", []string{"route", "r"}, "OK: OK 0/3 1m6s"},
			{"origin", []string{"route", "r"}, "OK: OK 0/3 1m6s"},
			{"cookie", []string{"route", "r"}, "OK: OK 0/3 1m6s"},
			{"arg.0", []string{"route", "r"}, "OK: OK 0/3 1m6s"},
			{"generic_key", []string{"route", "r"}, "OK: OK 0/3 1m6s"},
			{"route", []string{"resource", "r"}, "OK: OK 0/3 1m6s"},
			{"resource", nil, "OK: OK"},
		} {
			out = append(out, hostileCase{name + " in " + c.key, rawAttributes(append(c.more, c.key, bytes)...), 3, c.want})
		}
		out = append(out,
			hostileCase{name + " in a key", rawAttributes("route", "r", bytes, "x"), 3, "OK: OK 0/3 1m6s"},
			hostileCase{name + " in the domain", protoCat(protoBytes(1, bytes), rawDescriptor(rawEntry("route", "r"))), 3, "OK: OK 0/3 1m6s"},
			hostileCase{name + " in the path of a group", rawAttributes("path", "/admin/"+bytes), 2, "OVER_LIMIT: OVER_LIMIT 0/1 1m0s"},
			hostileCase{name + " in the query of the path", rawAttributes("route", "sku", "path", "/?sku="+bytes), 3, "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
			hostileCase{name + " in a cookie of the header", rawAttributes("route", "sid", "cookie", "sid="+bytes), 3, "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
		)
	}
	return out
}

// TestHostile sends over a Unix socket what a client of Envoy, or a misconfigured or hostile process
// beside it, could send, and prints with -v what each is answered.
func TestHostile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.apply(t, hostileRules)
	server, _ := w.server()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	conn, err := grpc.NewClient("unix:"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	send := func(wire []byte) string {
		var m rls.RateLimitResponse
		if err := conn.Invoke(context.Background(), rls.RateLimitService_ShouldRateLimit_FullMethodName, &wire, &m, grpc.ForceCodecV2(rawCodec{Codec()})); err != nil {
			return status.Code(err).String()
		}
		return brief(&m)
	}
	var table strings.Builder
	for _, group := range [][]hostileCase{hostileFraming(), hostileFields(), hostileBytes()} {
		for _, c := range group {
			got := ""
			for range max(c.times, 1) {
				got = send(c.wire)
			}
			if got != c.want {
				t.Errorf("%s, %d bytes, %d times: got %q, want %q", c.name, len(c.wire), c.times, got, c.want)
			}
			if len(got) > 50 {
				got = got[:50] + "..."
			}
			fmt.Fprintf(&table, "%-62s %8d B x%d  %s\n", c.name, len(c.wire), max(c.times, 1), got)
			w.now.Add(int64(time.Hour)) // every window is empty again
		}
	}
	if got := send(rawAsk()); got != "OK: OK 2/3 1m6s" {
		t.Errorf("the call after all of them: got %q", got)
	}
	t.Logf("\n%s", table.String())
}
