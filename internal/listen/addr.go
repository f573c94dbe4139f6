// Package listen opens and dials the daemon's addresses: Unix sockets that only the right processes
// can reach, abstract sockets, and TCP on loopback. It knows nothing of what is served on them.
package listen

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
)

// The networks of an Addr.
const (
	NetworkOff  = ""
	NetworkUnix = "unix"
	NetworkTCP  = "tcp"
)

// maxSocketPath is how many bytes of a path fit into the kernel's sockaddr_un with its final NUL.
const maxSocketPath = 107

// Addr is one parsed address. It is a value: immutable, comparable, safe for concurrent use. The
// zero value is `off`: nothing is served there.
type Addr struct {
	network string
	address string // a path, @name or host:port
}

// Parse reads an address as users write it: unix:PATH (also unix:///PATH), unix:@NAME for an abstract
// socket, tcp:HOST:PORT, or off. An empty HOST means every interface. The error says what is wrong
// and how the address would be written.
func Parse(addr string) (Addr, error) {
	scheme, rest, found := strings.Cut(addr, ":")
	switch {
	case addr == "off":
		return Addr{}, nil
	case found && scheme == "unix":
		return parseUnix(addr, rest)
	case found && scheme == "tcp":
		return parseTCP(addr, rest)
	}
	return Addr{}, fmt.Errorf("address %q: %s", addr, suggestion(addr))
}

// suggestion says how an address without a known scheme was probably meant.
func suggestion(addr string) string {
	switch {
	case addr == "":
		return "is empty; write unix:/path.sock, unix:@name, tcp:host:port or off"
	case strings.HasPrefix(addr, "/"), strings.HasPrefix(addr, "./"):
		return fmt.Sprintf("write unix:%s", addr)
	case strings.HasPrefix(addr, "@"):
		return fmt.Sprintf("write unix:%s", addr)
	}
	if _, err := parseTCP(addr, addr); err == nil {
		return fmt.Sprintf("write tcp:%s", addr)
	}
	return "write unix:/path.sock, unix:@name, tcp:host:port or off"
}

func parseUnix(addr, path string) (Addr, error) {
	fail := func(format string, args ...any) (Addr, error) {
		return Addr{}, fmt.Errorf("address %q: %w", addr, fmt.Errorf(format, args...))
	}
	if authority, ok := strings.CutPrefix(path, "//"); ok {
		if !strings.HasPrefix(authority, "/") {
			return fail("a Unix socket has no host: write unix:/path.sock or unix:///path.sock")
		}
		path = authority
	}
	switch {
	case path == "" || path == "@":
		return fail("the socket has no name; write unix:/path.sock or unix:@name")
	case strings.ContainsRune(path, 0):
		return fail("a socket name cannot hold a NUL byte")
	}
	if name, abstract := strings.CutPrefix(path, "@"); abstract {
		for _, r := range name {
			// Anything else would need escapes that gRPC targets do not undo.
			if r <= ' ' || r > '~' || strings.ContainsRune("%?#", r) {
				return fail("the name of an abstract socket is printable ASCII without spaces, %%, ? and #")
			}
		}
	} else {
		if strings.HasSuffix(path, "/") {
			return fail("names a directory, not a socket")
		}
		path = filepath.Clean(path)
	}
	if len(path) > maxSocketPath {
		return fail("the socket path is %d bytes long and the kernel takes at most %d; use a shorter directory", len(path), maxSocketPath)
	}
	return Addr{network: NetworkUnix, address: path}, nil
}

func parseTCP(addr, hostPort string) (Addr, error) {
	if strings.HasPrefix(hostPort, "//") {
		return Addr{}, fmt.Errorf("address %q: write tcp:%s", addr, strings.TrimPrefix(hostPort, "//"))
	}
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		cause := err.Error()
		if ae := (*net.AddrError)(nil); errors.As(err, &ae) {
			cause = ae.Err
		}
		return Addr{}, fmt.Errorf("address %q: %s; write tcp:host:port, an IPv6 host in brackets", addr, cause)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Addr{}, fmt.Errorf("address %q: port %q is not a number from 0 to 65535", addr, port)
	}
	if strings.ContainsAny(host, "/ \x00") {
		return Addr{}, fmt.Errorf("address %q: host %q is not a host name or IP address", addr, host)
	}
	return Addr{network: NetworkTCP, address: net.JoinHostPort(host, port)}, nil
}

// Network returns NetworkUnix, NetworkTCP or NetworkOff.
func (a Addr) Network() string { return a.network }

// Off reports whether nothing is served at the address.
func (a Addr) Off() bool { return a.network == NetworkOff }

// Abstract reports whether the address is an abstract Unix socket: no file, hence neither mode nor
// group, and reachable by every process of the same network namespace.
func (a Addr) Abstract() bool {
	return a.network == NetworkUnix && strings.HasPrefix(a.address, "@")
}

// Loopback returns an error that is ErrNotLoopback if Listen would refuse the address without
// AllowNonLoopback, as far as that is known without looking up a host name.
func (a Addr) Loopback() error {
	if a.network != NetworkTCP {
		return nil
	}
	host, port, err := net.SplitHostPort(a.address)
	if err != nil {
		return fmt.Errorf("address %s: %w", a, err)
	}
	ip, err := netip.ParseAddr(host)
	if host == "" || err == nil && !ip.Unmap().IsLoopback() {
		return fmt.Errorf("address %q: %w", a.String(), notLoopback(port))
	}
	return nil // of a name, Listen judges the address that it stands for at that time
}

// Path returns the path of a Unix socket that is a file, else "".
func (a Addr) Path() string {
	if a.network != NetworkUnix || a.Abstract() {
		return ""
	}
	return a.address
}

// String returns the address in the form that Parse takes.
func (a Addr) String() string {
	if a.Off() {
		return "off"
	}
	return a.network + ":" + a.address
}

// Target returns the address as a target for grpc.NewClient; "" for off. A relative socket path is
// made absolute, because gRPC decodes escapes in absolute ones only; the error is that of finding
// the working directory.
func (a Addr) Target() (string, error) {
	switch {
	case a.Off():
		return "", nil
	case a.network == NetworkTCP:
		return "passthrough:///" + a.address, nil
	case a.Abstract():
		return "unix-abstract:" + a.address[1:], nil
	}
	path, err := filepath.Abs(a.address)
	if err != nil {
		return "", fmt.Errorf("address %s: %w", a, err)
	}
	return (&url.URL{Scheme: "unix", Path: path}).String(), nil
}
