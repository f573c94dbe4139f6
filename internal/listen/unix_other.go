//go:build unix && !linux

package listen

import (
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// peer knows nothing of the other process on this system.
func peer(net.Conn) (pid int32, uid uint32, ok bool) { return 0, 0, false }

// chmodNoFollow changes the mode of name and never of what a link at that name points to.
func chmodNoFollow(dir *os.File, name string, mode fs.FileMode) error {
	return unix.Fchmodat(int(dir.Fd()), name, uint32(mode), unix.AT_SYMLINK_NOFOLLOW)
}
