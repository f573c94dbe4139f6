package listen

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// knowsPeers says that the kernel tells whose the other end of a Unix socket is.
const knowsPeers = true

// peer returns the credentials of the process at the other end as of its listen or connect call.
func peer(conn net.Conn) (credentials, bool) {
	var cred *unix.Ucred
	err := onSocket(conn, func(fd int) (err error) {
		cred, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return err
	})
	if err != nil {
		return credentials{}, false
	}
	return credentials{pid: cred.Pid, uid: cred.Uid, gid: cred.Gid}, true
}

// peerGroups returns the supplementary groups of the process at the other end; none before Linux 4.13.
func peerGroups(conn net.Conn) []uint32 {
	groups := make([]uint32, 64)
	size := uint32(len(groups) * 4)
	ask := func(fd int) error {
		// The kernel writes at most size bytes, and says in size how many it has.
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(unsafe.SliceData(groups))), uintptr(unsafe.Pointer(&size)), 0)
		if errno != 0 {
			return errno
		}
		return nil
	}
	err := onSocket(conn, ask)
	if errors.Is(err, unix.ERANGE) {
		groups = make([]uint32, size/4)
		err = onSocket(conn, ask)
	}
	if err != nil {
		return nil
	}
	return groups[:size/4]
}

// onSocket runs f with the file descriptor of a Unix connection.
func onSocket(conn net.Conn, f func(fd int) error) error {
	uc, isUnix := conn.(*net.UnixConn)
	if !isUnix {
		return errors.ErrUnsupported
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := raw.Control(func(fd uintptr) { err = f(int(fd)) }); cerr != nil {
		return cerr
	}
	return err
}

// chmodNoFollow changes the mode of name and never of what a link at that name points to: others may
// be able to write the directory. fchmodat2 exists since Linux 6.6 and some container runtimes forbid
// it; the way through /proc is the one that C libraries take.
func chmodNoFollow(dir *os.File, name string, mode fs.FileMode) error {
	if unix.Fchmodat(int(dir.Fd()), name, uint32(mode), unix.AT_SYMLINK_NOFOLLOW) == nil {
		return nil
	}
	return chmodByProc(dir, name, mode)
}

func chmodByProc(dir *os.File, name string, mode fs.FileMode) error {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return fmt.Errorf("%s was replaced while it was being made", name)
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), uint32(mode))
}
