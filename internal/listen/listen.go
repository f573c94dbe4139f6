package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"runtime"
	"syscall"
)

// DefaultMode is the mode of a socket file unless Options say otherwise: owner and group may connect.
const DefaultMode fs.FileMode = 0o660

// ErrNotLoopback says that a TCP address was refused because other hosts could reach it.
var ErrNotLoopback = errors.New("other hosts could reach it, with neither encryption nor authentication")

// Options say who may reach a listener. The zero value is the safe default.
type Options struct {
	// Mode is the permission bits of a Unix socket's file, exactly: the umask does not apply. 0 means
	// DefaultMode. Connecting needs write permission. Abstract sockets have no mode.
	Mode fs.FileMode
	// Group owns a Unix socket's file: a name or a number. Empty leaves the group that the kernel
	// gives, which is that of the directory if it is setgid.
	Group string
	// Allow lists who may connect to a Unix socket, a file or abstract. It says nothing of TCP.
	Allow Allow
	// TLS is spoken on TCP, never on Unix sockets; nil: plain TCP.
	TLS *tls.Config
	// AllowNonLoopback lets a TCP listener without TLS bind an address that other hosts can reach.
	AllowNonLoopback bool
	// Refused is told of each connection that Allow or TLS refused; nil: nobody is. It is called by
	// several goroutines at a time, one of which accepts, so it must not block.
	Refused func(Refusal)
}

// refuse returns what tells Refused of a connection to a that was refused for a reason.
func (o Options) refuse(a Addr, why Reason) func(error) {
	return func(err error) {
		if o.Refused != nil {
			o.Refused(Refusal{Addr: a, Reason: why, Err: err})
		}
	}
}

// enforceable says whether this system can tell who connects to a, if o asks for that.
func (o Options) enforceable(a Addr) error {
	if a.network == NetworkUnix && !knowsPeers && !o.Allow.Everybody() {
		return fmt.Errorf("who may connect cannot be told by user and group on %s", runtime.GOOS)
	}
	return nil
}

// guard makes a listener on a let in only those whom o admits.
func (o Options) guard(a Addr, ln net.Listener) net.Listener {
	switch {
	case a.network == NetworkTCP && o.TLS != nil:
		return &tlsListener{ln, o.TLS, o.refuse(a, ReasonTLS)}
	case a.network == NetworkUnix && !o.Allow.Everybody():
		return &allowListener{ln, o.Allow, o.refuse(a, ReasonPeer)}
	}
	return ln
}

// Listen opens a stream listener at the address; for off it returns nil and no error. Mode and group
// of a Unix socket are in force before the first connection can be made. The socket file of a process
// that has died is replaced; one that is served, or anything that is not a socket, is left alone and
// an error. Closing the listener removes the file if it is still the one made here. ctx bounds only
// the opening.
func Listen(ctx context.Context, a Addr, o Options) (net.Listener, error) {
	var (
		ln  net.Listener
		err error
	)
	switch {
	case a.Off():
		return nil, nil
	case o.enforceable(a) != nil:
		err = o.enforceable(a)
	case a.network == NetworkTCP:
		ln, err = listenTCP(ctx, a.address, o)
	case a.Abstract():
		ln, err = listenAbstract(ctx, a)
	default:
		ln, err = listenUnix(ctx, a, o)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", a, err)
	}
	return o.guard(a, ln), nil
}

func listenAbstract(ctx context.Context, a Addr) (net.Listener, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("abstract sockets exist on Linux only, not on %s", runtime.GOOS)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "unix", a.address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, alreadyServed(ctx, a)
	}
	return ln, err
}

// listenTCP resolves the host itself, so that the address judged is the address bound.
func listenTCP(ctx context.Context, hostPort string, o Options) (net.Listener, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	loopback := false // no host means every interface
	if host != "" {
		ip, err := resolve(ctx, host)
		if err != nil {
			return nil, err
		}
		host, loopback = ip.String(), ip.IP.IsLoopback()
	}
	if !loopback && !o.AllowNonLoopback && o.TLS == nil {
		return nil, notLoopback(port)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another process listens there already: %w", syscall.EADDRINUSE)
	}
	return ln, err
}

// notLoopback says what to write instead of a TCP address that other hosts can reach.
func notLoopback(port string) error {
	return fmt.Errorf("%w; write tcp:127.0.0.1:%s or a unix: address", ErrNotLoopback, port)
}

// resolve returns one address of the host, an IPv4 one if there is any.
func resolve(ctx context.Context, host string) (net.IPAddr, error) {
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return net.IPAddr{}, err
	}
	for _, ip := range ips {
		if ip.IP.To4() != nil {
			return ip, nil
		}
	}
	return ips[0], nil
}

// Dial connects to the address. Errors about a Unix socket say what its state means. ctx bounds the
// connecting, not the connection.
func Dial(ctx context.Context, a Addr) (net.Conn, error) {
	if a.Off() {
		return nil, errors.New("dial: the address is off")
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, a.network, a.address)
	if err == nil {
		return conn, nil
	}
	if a.network == NetworkUnix {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("dial %s: no such socket; is sidecard running, and its directory mounted here? %w", a, err)
		case errors.Is(err, syscall.ECONNREFUSED):
			return nil, fmt.Errorf("dial %s: no process serves this socket: %w", a, err)
		case errors.Is(err, fs.ErrPermission):
			return nil, fmt.Errorf("dial %s: the mode or group of the socket or its directory shuts this user out: %w", a, err)
		}
	}
	return nil, fmt.Errorf("dial %s: %w", a, err)
}
