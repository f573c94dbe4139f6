package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func abstractAddr(t *testing.T) Addr {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("abstract sockets exist on Linux only")
	}
	return mustParse(t, fmt.Sprintf("unix:@sidecard-test-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-")))
}

func TestUnixServesAndRemovesItsFile(t *testing.T) {
	t.Parallel()
	a := sockAddr(t)
	ln := mustListen(t, a, Options{})
	if got := ln.Addr().String(); got != a.Path() {
		t.Errorf("Addr: got %q, want %q", got, a.Path())
	}
	echoOnce(t, ln, a)
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
	if err := ln.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(a.Path()))
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	// The directory's lock is free again, and so is the path.
	echoOnce(t, mustListen(t, a, Options{}), a)
}

// The umask of the test process (022 as a rule) must not show in the mode.
func TestUnixMode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ mode, want fs.FileMode }{
		{0, 0o660}, {0o600, 0o600}, {0o666, 0o666}, {0o777, 0o777}, {0o660, 0o660},
	} {
		a := sockAddr(t)
		mustListen(t, a, Options{Mode: tt.mode})
		info, err := os.Lstat(a.Path())
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != fs.ModeSocket|tt.want {
			t.Errorf("mode %o: got %v, want %v", tt.mode, info.Mode(), fs.ModeSocket|tt.want)
		}
	}
	if _, err := Listen(t.Context(), sockAddr(t), Options{Mode: fs.ModeSetuid | 0o660}); err == nil {
		t.Error("a mode with more than permissions was taken")
	}
}

// From the first moment that the socket can be reached its mode is the final one: whoever connects
// while it is being opened finds that mode right after.
func TestUnixModeBeforeFirstConnection(t *testing.T) {
	t.Parallel()
	a := sockAddr(t)
	for range 200 {
		stop := make(chan struct{})
		seen := make(chan error, 1)
		go func() {
			for {
				select {
				case <-stop:
					seen <- nil
					return
				default:
				}
				conn, err := net.Dial("unix", a.Path())
				if err != nil {
					continue
				}
				conn.Close()
				info, err := os.Lstat(a.Path())
				if err == nil && info.Mode().Perm() != 0o606 {
					err = fmt.Errorf("connected to a socket of mode %v", info.Mode())
				}
				seen <- err
				return
			}
		}()
		ln := mustListen(t, a, Options{Mode: 0o606})
		close(stop)
		if err := <-seen; err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		ln.Close()
	}
}

func TestUnixGroup(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("giving a socket to a group that this user is not in needs root")
	}
	for _, group := range []string{"12345", "daemon"} {
		want := uint32(12345)
		if group == "daemon" {
			gid, err := groupID("daemon")
			if err != nil {
				continue // no such group on this system
			}
			want = uint32(gid)
		}
		a := sockAddr(t)
		ln := mustListen(t, a, Options{Group: group})
		var st unix.Stat_t
		if err := unix.Lstat(a.Path(), &st); err != nil {
			t.Fatal(err)
		}
		if st.Gid != want {
			t.Errorf("group %s: got gid %d, want %d", group, st.Gid, want)
		}
		accepts := make(chan struct{})
		go func() {
			defer close(accepts)
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				conn.Close()
			}
		}()
		for ids, connects := range map[string]bool{
			"65534,65534":                       false,
			fmt.Sprintf("65534,65534,%d", want): true,
			fmt.Sprintf("65534,%d", want):       true,
			"0,0":                               true,
		} {
			got := dialAs(t, a, ids)
			if (got == "connected") != connects {
				t.Errorf("group %s as %s: %q, want connected %v", group, ids, got, connects)
			}
			if !connects && !strings.Contains(got, "mode or group of the socket") {
				t.Errorf("the error does not say why: %q", got)
			}
		}
		ln.Close()
		<-accepts
	}
}

func TestUnixGroupErrors(t *testing.T) {
	t.Parallel()
	a := sockAddr(t)
	_, err := Listen(t.Context(), a, Options{Group: "no-such-group-here"})
	if err == nil || !strings.Contains(err.Error(), "no such group") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(a.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket was left behind: %v", err)
	}
}

func TestUnixRefusals(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("file"), []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path("dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(path("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", path("link")); err != nil {
		t.Fatal(err)
	}
	datagram, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path("datagram"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer datagram.Close()
	for _, tt := range []struct{ name, want string }{
		{"file", "not a socket (a file)"},
		{"dir", "not a socket (a directory)"},
		{"fifo", "not a socket (a named pipe)"},
		{"link", "not a socket (a symbolic link)"},
		{"datagram", "cannot be told whether a process serves it"},
		{"missing/s.sock", "missing does not exist; create it"},
		{"file/s.sock", "file is not a directory"},
	} {
		before, beforeErr := os.Lstat(path(tt.name))
		_, err := Listen(t.Context(), mustParse(t, "unix:"+path(tt.name)), Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q in it", tt.name, err, tt.want)
		}
		after, afterErr := os.Lstat(path(tt.name))
		if (beforeErr == nil) != (afterErr == nil) || beforeErr == nil && !os.SameFile(before, after) {
			t.Errorf("%s: was changed: %v, %v", tt.name, after, afterErr)
		}
	}
}

func TestUnixStaleSocketOfKilledProcess(t *testing.T) {
	t.Parallel()
	a := sockAddr(t)
	c := startChild(t, a.String())
	if c.line != "ready" {
		t.Fatalf("child: %s", c.line)
	}
	c.kill(t)
	if info, err := os.Lstat(a.Path()); err != nil || info.Mode().Type() != fs.ModeSocket {
		t.Fatalf("the killed process left no socket: %v", err)
	}
	if _, err := Dial(t.Context(), a); err == nil || !strings.Contains(err.Error(), "no process serves this socket") {
		t.Errorf("dial of the dead socket: %v", err)
	}
	echoOnce(t, mustListen(t, a, Options{}), a)
}

func TestUnixLiveProcessIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, a := range []Addr{sockAddr(t), abstractAddr(t)} {
		c := startChild(t, a.String())
		if c.line != "ready" {
			t.Fatalf("child: %s", c.line)
		}
		_, err := Listen(t.Context(), a, Options{})
		want := fmt.Sprintf("already served by another process (pid %d, uid %d)", c.cmd.Process.Pid, os.Getuid())
		if runtime.GOOS != "linux" {
			want = "already served by another process"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", a, err, want)
		}
		conn, err := Dial(within(t), a)
		if err != nil {
			t.Fatalf("%s: the first process was harmed: %v", a, err)
		}
		got, err := io.ReadAll(conn)
		if err != nil || string(got) != "first" {
			t.Errorf("%s: got %q, %v from the first process", a, got, err)
		}
		conn.Close()
	}
}

// Many starters at once, on a path where a dead socket lies: one wins, and it keeps serving.
func TestUnixRaceOfStarters(t *testing.T) {
	t.Parallel()
	a := sockAddr(t)
	for range 20 {
		leaveStale(t, a.Path())
		var (
			wg      sync.WaitGroup
			mu      sync.Mutex
			winners []net.Listener
		)
		for range 8 {
			wg.Go(func() {
				ln, err := Listen(within(t), a, Options{})
				if err != nil {
					if !strings.Contains(err.Error(), "already served") {
						t.Errorf("a loser was told %v", err)
					}
					return
				}
				mu.Lock()
				defer mu.Unlock()
				winners = append(winners, ln)
			})
		}
		wg.Wait()
		if len(winners) != 1 {
			t.Fatalf("%d starters hold the socket, want 1", len(winners))
		}
		// The losers' probes are accepted first: they are closed already.
		conn, err := Dial(within(t), a)
		if err != nil {
			t.Fatalf("the winner cannot be reached: %v", err)
		}
		conn.Close()
		winners[0].Close()
	}
}

// leaveStale makes what a killed process leaves: a socket file that nobody serves. It never listens:
// a process forked by a parallel test would keep a listening socket alive until its exec.
func leaveStale(t *testing.T, path string) {
	t.Helper()
	fd, err := streamSocket()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
}

func TestUnixLockedDirectory(t *testing.T) {
	t.Parallel()
	a := sockAddr(t)
	dir, err := os.Open(filepath.Dir(a.Path()))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("test gave up")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := Listen(ctx, a, Options{}); !errors.Is(err, cause) || !strings.Contains(err.Error(), "is locked") {
		t.Errorf("got %v", err)
	}
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	mustListen(t, a, Options{})
}

// A file that another process has put in the socket's place is not the one to remove.
func TestUnixCloseLeavesForeignFile(t *testing.T) {
	t.Parallel()
	a := sockAddr(t)
	ln := mustListen(t, a, Options{})
	if err := os.Remove(a.Path()); err != nil {
		t.Fatal(err)
	}
	second := mustListen(t, a, Options{})
	ln.Close()
	echoOnce(t, second, a)
}

// The directory may be renamed while the socket is served.
func TestUnixCloseAfterDirectoryMoved(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	ln := mustListen(t, mustParse(t, "unix:"+sub+"/s.sock"), Options{})
	moved := filepath.Join(dir, "moved")
	if err := os.Rename(sub, moved); err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if _, err := os.Lstat(filepath.Join(moved, "s.sock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket was left behind: %v", err)
	}
}

func TestAbstract(t *testing.T) {
	t.Parallel()
	a := abstractAddr(t)
	ln := mustListen(t, a, Options{})
	echoOnce(t, ln, a)
	_, err := Listen(t.Context(), a, Options{})
	if !errors.Is(err, errServed) {
		t.Errorf("got %v", err)
	}
	ln.Close()
	echoOnce(t, mustListen(t, a, Options{}), a)
}

func TestSocketPathLimit(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	name := strings.Repeat("s", maxSocketPath-len(dir)-1)
	a := mustParse(t, "unix:"+filepath.Join(dir, name))
	if len(a.Path()) != maxSocketPath {
		t.Fatalf("path of %d bytes", len(a.Path()))
	}
	echoOnce(t, mustListen(t, a, Options{}), a)
	// The kernel's own limit is what Parse explains.
	_, err := net.Listen("unix", a.Path()+"s")
	if !errors.Is(err, syscall.EINVAL) {
		t.Errorf("108 bytes: %v, want EINVAL", err)
	}
}
