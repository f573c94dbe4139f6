//go:build unix && !linux

package listen

import (
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// knowsPeers says that nothing is known of the other process on this system.
const knowsPeers = false

func peer(net.Conn) (credentials, bool) { return credentials{}, false }

func peerGroups(net.Conn) []uint32 { return nil }

// chmodNoFollow changes the mode of name and never of what a link at that name points to.
func chmodNoFollow(dir *os.File, name string, mode fs.FileMode) error {
	return unix.Fchmodat(int(dir.Fd()), name, uint32(mode), unix.AT_SYMLINK_NOFOLLOW)
}
