package listen

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// firstInherited is the number of the first socket that a service manager passes.
const firstInherited = 3

// Inherited is a listening socket that the process was started with. Whoever passed it keeps it open: while
// this process ends and another starts, connections wait in the kernel's queue, and the file of a Unix
// socket, its mode and its group are the other's. It is not for concurrent use.
type Inherited struct {
	// Name is what whoever passed the socket calls it; "" if it says nothing.
	Name string
	// Addr is where it listens.
	Addr Addr

	listener net.Listener
}

// Inherit returns the sockets that a service manager passes to this process, in its order: those of
// sd_listen_fds(3), which LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES tell of. There are none if the
// variables are not set or speak of another process. A socket that is not one of streams that listens is
// an error, as are variables that contradict each other; then all are closed. To be called once: the
// descriptors are the Inherited's afterwards, and no child process gets them.
func Inherit(lookup func(variable string) (string, bool)) ([]*Inherited, error) {
	return inherit(lookup, firstInherited)
}

func inherit(lookup func(string) (string, bool), first int) (sockets []*Inherited, err error) {
	if pid, _ := lookup("LISTEN_PID"); pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	text, _ := lookup("LISTEN_FDS")
	count, err := strconv.Atoi(text)
	if err != nil || count < 0 || count > 1<<10 {
		return nil, fmt.Errorf("LISTEN_FDS is %q, not a number of sockets", text)
	}
	names := make([]string, count)
	if text, _ := lookup("LISTEN_FDNAMES"); text != "" {
		if names = strings.Split(text, ":"); len(names) != count {
			return nil, fmt.Errorf("LISTEN_FDNAMES has %d names for %d sockets", len(names), count)
		}
	}
	defer func() {
		if err != nil {
			for _, s := range sockets {
				s.Close()
			}
			sockets = nil
		}
	}()
	for i, name := range names {
		s, err := inheritOne(first+i, name)
		if err != nil {
			return sockets, fmt.Errorf("socket %q, descriptor %d of the service manager: %w", name, first+i, err)
		}
		sockets = append(sockets, s)
	}
	return sockets, nil
}

var errNotListening = errors.New("it is not a stream socket that listens; a socket unit says ListenStream= and Accept=no")

func inheritOne(fd int, name string) (*Inherited, error) {
	// Asked before the descriptor is touched: one that was not passed may be the runtime's own.
	kind, err1 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	listens, err2 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err1 != nil || err2 != nil || kind != unix.SOCK_STREAM || listens == 0 {
		return nil, errNotListening
	}
	unix.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), name)
	defer file.Close() // the listener has a duplicate
	ln, err := net.FileListener(file)
	if err != nil {
		return nil, err
	}
	addr, err := addrOf(ln.Addr())
	if err != nil {
		ln.Close()
		return nil, err
	}
	return &Inherited{Name: name, Addr: addr, listener: ln}, nil
}

// addrOf returns the Addr of a socket that listens.
func addrOf(a net.Addr) (Addr, error) {
	switch a := a.(type) {
	case *net.TCPAddr:
		return Addr{network: NetworkTCP, address: a.String()}, nil
	case *net.UnixAddr:
		return Addr{network: NetworkUnix, address: a.Name}, nil
	}
	return Addr{}, fmt.Errorf("it listens on %s, which is neither TCP nor a Unix socket", a.Network())
}

// Listener returns the listener with all of the Options in force that say who may connect: Allow, TLS and
// AllowNonLoopback. Mode and Group are those of whoever made the socket. Closing the listener leaves the
// socket to others who have it open, and its file in place. On an error it is closed.
func (s *Inherited) Listener(o Options) (net.Listener, error) {
	err := o.enforceable(s.Addr)
	if tcp, ok := s.listener.Addr().(*net.TCPAddr); ok && err == nil && !tcp.IP.IsLoopback() && !o.AllowNonLoopback && o.TLS == nil {
		err = notLoopback(strconv.Itoa(tcp.Port))
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("listen on %s: %w", s.Addr, err)
	}
	return o.guard(s.Addr, s.listener), nil
}

// Close gives the socket up.
func (s *Inherited) Close() error { return s.listener.Close() }
