package listen

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("d", 106) // 107 bytes
	for _, tt := range []struct {
		in, want, path, network string
		abstract, off           bool
	}{
		{in: "unix:/run/s.sock", want: "unix:/run/s.sock", path: "/run/s.sock", network: "unix"},
		{in: "unix:///run/s.sock", want: "unix:/run/s.sock", path: "/run/s.sock", network: "unix"},
		{in: "unix:/run//a/../s.sock", want: "unix:/run/s.sock", path: "/run/s.sock", network: "unix"},
		{in: "unix:rel/s.sock", want: "unix:rel/s.sock", path: "rel/s.sock", network: "unix"},
		{in: "unix:./s.sock", want: "unix:s.sock", path: "s.sock", network: "unix"},
		{in: "unix:@sidecard", want: "unix:@sidecard", network: "unix", abstract: true},
		{in: "unix:" + long, want: "unix:" + long, path: long, network: "unix"},
		{in: "tcp:127.0.0.1:9091", want: "tcp:127.0.0.1:9091", network: "tcp"},
		{in: "tcp:[::1]:0", want: "tcp:[::1]:0", network: "tcp"},
		{in: "tcp:localhost:65535", want: "tcp:localhost:65535", network: "tcp"},
		{in: "tcp::9092", want: "tcp::9092", network: "tcp"},
		{in: "off", want: "off", off: true},
	} {
		a, err := Parse(tt.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.in, err)
			continue
		}
		if a.String() != tt.want || a.Path() != tt.path || a.Network() != tt.network || a.Abstract() != tt.abstract || a.Off() != tt.off {
			t.Errorf("Parse(%q) = %s path %q network %q abstract %v off %v", tt.in, a, a.Path(), a.Network(), a.Abstract(), a.Off())
		}
		again, err := Parse(a.String())
		if err != nil || again != a {
			t.Errorf("Parse(%q) = %v, %v: not what String came from", a.String(), again, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"", "is empty"},
		{"/run/s.sock", "write unix:/run/s.sock"},
		{"./s.sock", "write unix:./s.sock"},
		{"@name", "write unix:@name"},
		{"127.0.0.1:80", "write tcp:127.0.0.1:80"},
		{"localhost:9091", "write tcp:localhost:9091"},
		{"http://localhost:80", "tcp:host:port"},
		{"OFF", "or off"},
		{"unix:", "no name"},
		{"unix:@", "no name"},
		{"unix://", "no host"},
		{"unix://run/s.sock", "write unix:/path.sock or unix:///path.sock"},
		{"unix:/run/", "a directory"},
		{"unix:/run/\x00", "NUL"},
		{"unix:@a b", "printable ASCII"},
		{"unix:@a%20", "printable ASCII"},
		{"unix:/" + strings.Repeat("d", 107), "108 bytes long and the kernel takes at most 107"},
		{"unix:@" + strings.Repeat("n", 107), "108 bytes long"},
		{"tcp:", "missing port"},
		{"tcp:127.0.0.1", "missing port"},
		{"tcp:::1:80", "IPv6 host in brackets"},
		{"tcp://127.0.0.1:80", "write tcp:127.0.0.1:80"},
		{"tcp:127.0.0.1:http", `port "http" is not a number`},
		{"tcp:127.0.0.1:65536", "from 0 to 65535"},
		{"tcp:127.0.0.1:-1", "from 0 to 65535"},
		{"tcp:a/b:80", "not a host name"},
	} {
		a, err := Parse(tt.in)
		if err == nil {
			t.Errorf("Parse(%q) = %s, want an error", tt.in, a)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%q): %v, want %q in it", tt.in, err, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"unix:/a", "unix:///a", "unix:@a", "tcp:[::1]:1", "tcp:h:2", "off", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(a.String())
		if err != nil || again != a {
			t.Errorf("Parse(%q) = %q, which parses as %v, %v", s, a, again, err)
		}
	})
}

func TestTarget(t *testing.T) {
	t.Parallel()
	cwd, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ in, want string }{
		{"unix:/run/s.sock", "unix:///run/s.sock"},
		{"unix:/run/a b%?#.sock", "unix:///run/a%20b%25%3F%23.sock"},
		{"unix:s.sock", "unix://" + cwd + "/s.sock"},
		{"unix:@name", "unix-abstract:name"},
		{"tcp:127.0.0.1:1", "passthrough:///127.0.0.1:1"},
		{"off", ""},
	} {
		got, err := mustParse(t, tt.in).Target()
		if err != nil || got != tt.want {
			t.Errorf("Target of %s: got %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for addr, ok := range map[string]bool{
		"off": true, "unix:/a": true, "unix:@a": true, "tcp:127.0.0.1:1": true, "tcp:127.8.9.1:1": true, "tcp:[::1]:1": true,
		"tcp:[::ffff:127.0.0.1]:1": true, "tcp:localhost:1": true, "tcp:elsewhere.example:1": true, // a name says nothing yet
		"tcp::1": false, "tcp:0.0.0.0:1": false, "tcp:[::]:1": false, "tcp:192.0.2.1:1": false, "tcp:[fe80::1%eth0]:1": false,
	} {
		err := mustParse(t, addr).Loopback()
		if (err == nil) != ok || err != nil && (!errors.Is(err, ErrNotLoopback) || !strings.Contains(err.Error(), "write tcp:127.0.0.1:1 or a unix: address")) {
			t.Errorf("%s: got %v, want ok %v", addr, err, ok)
		}
	}
}
