package listen

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// passed makes a socket that a service manager would pass: the manager's end, which stays open for the test,
// and the descriptor that the process gets.
func passed(t *testing.T, network, address string) (manager interface{ Close() error }, fd int) {
	t.Helper()
	var file *os.File
	var err error
	switch network {
	case "unixgram":
		var c *net.UnixConn
		c, err = net.ListenUnixgram(network, &net.UnixAddr{Net: network, Name: address})
		if err == nil {
			manager = c
			file, err = c.File()
		}
	default:
		var l net.Listener
		l, err = net.Listen(network, address)
		if err == nil {
			manager = l
			file, err = l.(interface{ File() (*os.File, error) }).File()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	t.Cleanup(func() { manager.Close() })
	if fd, err = unix.Dup(int(file.Fd())); err != nil { // belongs to no os.File, as after an exec
		t.Fatal(err)
	}
	return manager, fd
}

// environment is that of a process which gets count sockets.
func environment(count int, names string) func(string) (string, bool) {
	set := map[string]string{"LISTEN_PID": strconv.Itoa(os.Getpid()), "LISTEN_FDS": strconv.Itoa(count), "LISTEN_FDNAMES": names}
	return func(name string) (string, bool) { v, ok := set[name]; return v, ok }
}

func TestInheritedSocketsServe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": path} {
		t.Run(network, func(t *testing.T) {
			manager, fd := passed(t, network, address)
			at := manager.(net.Listener).Addr()
			sockets, err := inherit(environment(1, "listen"), fd)
			if err != nil || len(sockets) != 1 || sockets[0].Name != "listen" || sockets[0].Addr.String() != network+":"+at.String() {
				t.Fatalf("got %+v, %v", sockets, err)
			}
			l, err := sockets[0].Listener(Options{})
			if err != nil {
				t.Fatal(err)
			}
			client, err := net.Dial(network, at.String())
			if err != nil {
				t.Fatal(err)
			}
			client.Close()
			served, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			served.Close()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			// The socket is still the manager's: connections wait for whoever serves it next.
			waiting, err := net.Dial(network, at.String())
			if err != nil {
				t.Fatalf("closing ended the manager's socket: %v", err)
			}
			defer waiting.Close()
			later, err := manager.(net.Listener).Accept()
			if err != nil {
				t.Fatal(err)
			}
			later.Close()
		})
	}
}

func TestInheritedAbstractSocket(t *testing.T) {
	t.Parallel()
	_, fd := passed(t, "unix", "@sidecard-test-inherit")
	sockets, err := inherit(environment(1, ""), fd)
	if err != nil || len(sockets) != 1 || sockets[0].Name != "" || sockets[0].Addr.String() != "unix:@sidecard-test-inherit" {
		t.Fatalf("got %+v, %v", sockets, err)
	}
	sockets[0].Close()
}

// What others may not reach when it is bound here they may not reach when somebody else has bound it.
func TestInheritedSocketsAreGuarded(t *testing.T) {
	t.Parallel()
	_, fd := passed(t, "tcp", "0.0.0.0:0")
	sockets, err := inherit(environment(1, ""), fd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sockets[0].Listener(Options{}); !errors.Is(err, ErrNotLoopback) {
		t.Errorf("got %v, want %v", err, ErrNotLoopback)
	}
	_, fd = passed(t, "tcp", "0.0.0.0:0")
	if sockets, err = inherit(environment(1, ""), fd); err != nil {
		t.Fatal(err)
	}
	l, err := sockets[0].Listener(Options{AllowNonLoopback: true})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestNothingIsInheritedByAnother(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]map[string]string{
		"nothing":                   {},
		"no process":                {"LISTEN_FDS": "1"},
		"the parent":                {"LISTEN_PID": strconv.Itoa(os.Getppid()), "LISTEN_FDS": "1"},
		"none for this one, though": {"LISTEN_PID": strconv.Itoa(os.Getpid()), "LISTEN_FDS": "0"},
	} {
		got, err := Inherit(func(name string) (string, bool) { v, ok := set[name]; return v, ok })
		if len(got) > 0 || err != nil {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func TestWhatCannotBeInherited(t *testing.T) {
	t.Parallel()
	_, datagrams := passed(t, "unixgram", filepath.Join(t.TempDir(), "d"))
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, one := passed(t, "tcp", "127.0.0.1:0")
	defer unix.Close(one)
	for _, tc := range []struct {
		name   string
		lookup func(string) (string, bool)
		fd     int
		want   string
	}{
		{"datagrams", environment(1, "listen"), datagrams, errNotListening.Error()},
		{"a file", environment(1, "listen"), int(file.Fd()), errNotListening.Error()},
		{"nothing", environment(1, "listen"), 1 << 20, errNotListening.Error()},
		{"more names than sockets", environment(1, "listen:status"), one, "LISTEN_FDNAMES has 2 names for 1 sockets"},
		{"no number", func(name string) (string, bool) {
			return map[string]string{"LISTEN_PID": strconv.Itoa(os.Getpid()), "LISTEN_FDS": "x"}[name], true
		}, one, `LISTEN_FDS is "x", not a number of sockets`},
	} {
		if got, err := inherit(tc.lookup, tc.fd); err == nil || !strings.Contains(err.Error(), tc.want) || len(got) > 0 {
			t.Errorf("%s: got %v, %v, want %q", tc.name, got, err, tc.want)
		}
	}
	unix.Close(datagrams)
}
