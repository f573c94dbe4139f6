package listen

import (
	"fmt"
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// peer returns the credentials of the process at the other end as of its listen or connect call.
func peer(conn net.Conn) (pid int32, uid uint32, ok bool) {
	uc, isUnix := conn.(*net.UnixConn)
	if !isUnix {
		return 0, 0, false
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return 0, 0, false
	}
	var cred *unix.Ucred
	if cerr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); cerr != nil || err != nil {
		return 0, 0, false
	}
	return cred.Pid, cred.Uid, true
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
