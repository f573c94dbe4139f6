package listen

import (
	"errors"
	"fmt"
	"net"
	"slices"
)

// Allow lists who may connect to a Unix socket beyond what its mode and group say: users and groups by
// number, as they are in this process's user namespace. The kernel says who the other process was when it
// connected, so nobody can pretend. One on either list may connect. The zero value lists nobody and means
// that everybody may whom the file lets in.
type Allow struct {
	UIDs []uint32
	// GIDs are compared with the primary group and, since Linux 4.13, with all others of the process.
	GIDs []uint32
}

// Everybody says whether nothing is listed.
func (a Allow) Everybody() bool { return len(a.UIDs) == 0 && len(a.GIDs) == 0 }

// Admits says whether a process of that user and those groups may connect.
func (a Allow) Admits(uid uint32, gids ...uint32) bool {
	return a.Everybody() || slices.Contains(a.UIDs, uid) || slices.ContainsFunc(gids, func(gid uint32) bool { return slices.Contains(a.GIDs, gid) })
}

// credentials are those of the process at the other end, as of its listen or connect call.
type credentials struct {
	pid      int32 // 0: of another pid namespace, such as that of another container
	uid, gid uint32
}

// ErrNotAllowed says that a connection was closed because its process is on neither list of an Allow.
var ErrNotAllowed = errors.New("neither its user nor a group of it is allowed")

// check returns why the process at the other end may not connect. Whoever cannot be told may not.
func (a Allow) check(conn net.Conn) error {
	who, ok := peer(conn)
	if !ok {
		return fmt.Errorf("%w: the kernel does not say whose it is", ErrNotAllowed)
	}
	if a.Admits(who.uid, who.gid) {
		return nil
	}
	var groups []uint32
	if len(a.GIDs) > 0 {
		groups = peerGroups(conn)
		if a.Admits(who.uid, groups...) {
			return nil
		}
	}
	return fmt.Errorf("%w: uid %d, gid %d, groups %d, pid %d", ErrNotAllowed, who.uid, who.gid, groups, who.pid)
}

// allowListener closes the connections of those who are not allowed before a byte of them is read.
type allowListener struct {
	net.Listener
	allow   Allow
	refused func(error)
}

func (l *allowListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if err = l.allow.check(conn); err == nil {
			return conn, nil
		}
		conn.Close()
		l.refused(err)
	}
}
