package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lockWait bounds the wait for another process that is binding in the same directory. Binding
	// takes microseconds: whoever holds the lock longer is not doing that.
	lockWait  = 3 * time.Second
	lockRetry = 5 * time.Millisecond

	// probeWait bounds the question whether a socket is served.
	probeWait = time.Second

	// backlog is cut by the kernel to what it allows.
	backlog = 4096
)

// listenUnix binds a socket file. The directory is locked from the look at an old file until the new
// one is served: without that, a second starter could take the half-made socket of the first for a
// dead one and remove it. No lock file is left behind, since the lock is on the directory itself.
func listenUnix(ctx context.Context, a Addr, o Options) (_ net.Listener, err error) {
	mode := o.Mode
	if mode == 0 {
		mode = DefaultMode
	}
	if mode&^fs.ModePerm != 0 {
		return nil, fmt.Errorf("mode %v has bits beyond the permissions", mode)
	}
	gid, err := groupID(o.Group)
	if err != nil {
		return nil, err
	}
	dir, err := openDir(filepath.Dir(a.address))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			dir.Close()
		}
	}()
	if err := lockDir(ctx, dir); err != nil {
		return nil, err
	}
	defer unix.Flock(int(dir.Fd()), unix.LOCK_UN)

	if err := removeStale(ctx, a); err != nil {
		return nil, err
	}
	return bind(dir, a, mode, gid)
}

// groupID returns the number of a group, -1 for "".
func groupID(group string) (int, error) {
	if group == "" {
		return -1, nil
	}
	if n, err := strconv.ParseUint(group, 10, 31); err == nil {
		return int(n), nil
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return 0, fmt.Errorf("group %q: no such group here; a number works without an entry in /etc/group", group)
	}
	return strconv.Atoi(g.Gid)
}

func openDir(path string) (*os.File, error) {
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("directory %s does not exist; create it, or mount a volume there", path)
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%s is not a directory", path)
	}
	return dir, err
}

// lockDir takes an exclusive lock on the directory. It polls, because a blocked flock cannot be given
// up when ctx ends. A file system that cannot lock directories only brings back the race between two
// starters, which is no reason not to start.
func lockDir(ctx context.Context, dir *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil, errors.Is(err, unix.EBADF), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK):
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("lock directory %s: %w", dir.Name(), err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("directory %s is locked: another process is starting there: %w", dir.Name(), context.Cause(ctx))
		case <-time.After(lockRetry):
		}
	}
}

// removeStale removes the socket file of a process that has died. Only a refused connection proves
// that; whatever else is found there is left as it is.
func removeStale(ctx context.Context, a Addr) error {
	info, err := os.Lstat(a.address)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is not a socket (%s); it is left as it is: move it away or choose another path", a.address, describe(info.Mode()))
	}
	conn, err := probe(ctx, a)
	switch {
	case err == nil:
		defer conn.Close()
		return servedBy(conn)
	case errors.Is(err, fs.ErrNotExist):
		return nil // its owner removed it just now
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%s exists and it cannot be told whether a process serves it (%w); it is left as it is", a.address, err)
	}
	if err := unix.Unlink(a.address); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the socket that a dead process left: %w", err)
	}
	return nil
}

func describe(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	}
	return "a device"
}

func probe(ctx context.Context, a Addr) (net.Conn, error) {
	d := net.Dialer{Timeout: probeWait}
	return d.DialContext(ctx, a.network, a.address)
}

// alreadyServed returns the error for an address that a live process holds.
func alreadyServed(ctx context.Context, a Addr) error {
	conn, err := probe(ctx, a)
	if err != nil {
		return errServed
	}
	defer conn.Close()
	return servedBy(conn)
}

var errServed = errors.New("already served by another process")

// servedBy names the process at the other end as far as the kernel tells: the pid is 0 across
// containers.
func servedBy(conn net.Conn) error {
	who, ok := peer(conn)
	switch {
	case !ok:
		return errServed
	case who.pid == 0:
		return fmt.Errorf("%w (uid %d, in another container)", errServed, who.uid)
	}
	return fmt.Errorf("%w (pid %d, uid %d)", errServed, who.pid, who.uid)
}

// bind makes the socket file and serves it. Between bind and listen a connection is refused by the
// kernel, so mode and group are set there and no umask, which is shared by all goroutines, is touched.
func bind(dir *os.File, a Addr, mode fs.FileMode, gid int) (_ net.Listener, err error) {
	fd, err := streamSocket()
	if err != nil {
		return nil, fmt.Errorf("create a socket: %w", err)
	}
	sock := os.NewFile(uintptr(fd), a.address)
	defer sock.Close() // net.FileListener works on a duplicate

	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: a.address}); err != nil {
		return nil, fmt.Errorf("bind: %w", err)
	}
	l := &unixListener{dir: dir, name: filepath.Base(a.address)}
	if l.dev, l.ino, err = inode(dir, l.name); err != nil {
		return nil, fmt.Errorf("find the socket just bound: %w", err)
	}
	defer func() {
		if err != nil {
			l.remove()
		}
	}()
	if gid >= 0 {
		if err := unix.Fchownat(int(dir.Fd()), l.name, -1, gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return nil, fmt.Errorf("give the socket to group %d (this user must be a member, or root): %w", gid, err)
		}
	}
	if err := chmodNoFollow(dir, l.name, mode); err != nil {
		return nil, fmt.Errorf("set the socket's mode to %04o: %w", mode, err)
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return nil, err
	}
	if l.Listener, err = net.FileListener(sock); err != nil {
		return nil, err
	}
	return l, nil
}

// unixListener is a listener that removes its file when it closes.
type unixListener struct {
	net.Listener
	dir      *os.File // held open, so that a renamed directory or a changed working directory does no harm
	name     string
	dev, ino uint64
	close    sync.Once
	closeErr error
}

// Close stops listening and removes the socket file if it is still the one made here. The file goes
// first: as long as the socket is open its inode cannot be reused, so the comparison is safe, and a
// second starter finds either a served socket or none. Safe for concurrent and repeated use.
func (l *unixListener) Close() error {
	l.close.Do(func() {
		l.remove()
		l.closeErr = l.Listener.Close()
		l.dir.Close()
	})
	return l.closeErr
}

func (l *unixListener) remove() {
	dev, ino, err := inode(l.dir, l.name)
	if err == nil && dev == l.dev && ino == l.ino {
		unix.Unlinkat(int(l.dir.Fd()), l.name, 0)
	}
}

func inode(dir *os.File, name string) (dev, ino uint64, err error) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return 0, 0, err
	}
	return uint64(st.Dev), st.Ino, nil
}

// streamSocket returns a non-blocking socket that child processes do not inherit. It takes the two
// steps that every Unix knows instead of the flags that Linux has.
func streamSocket() (int, error) {
	syscall.ForkLock.RLock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return -1, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
