package main

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/internal/listen"
)

// accessSettings are those that say who may connect.
func accessSettings() []setting {
	return []setting{
		{key: "socket.mode", usage: "permissions of Unix sockets, octal",
			set: func(c *config, v []string) error { return setMode(&c.Socket.Mode, v[0]) }},
		{key: "socket.group", usage: "group, by name or number, that Unix sockets are given to",
			set: func(c *config, v []string) error { c.Socket.Group = v[0]; return nil }},
		{key: "socket.allowUids", flag: "allow-uid", value: "UID", list: true, usage: "user, by number, that may connect to Unix sockets, and no other but by --allow-gid; may be repeated",
			set: func(c *config, v []string) error { return setIDs(&c.Socket.Allow.UIDs, v) }},
		{key: "socket.allowGids", flag: "allow-gid", value: "GID", list: true, usage: "group, by number, whose members may connect to Unix sockets, and no others but by --allow-uid; may be repeated",
			set: func(c *config, v []string) error { return setIDs(&c.Socket.Allow.GIDs, v) }},
	}
}

// maxIDs is how many users or groups may be listed: every connection is compared with all of them.
const maxIDs = 1024

func setIDs(into *[]uint32, values []string) error {
	if len(values) > maxIDs {
		return fmt.Errorf("%d of them; at most %d may be listed: use a group", len(values), maxIDs)
	}
	ids := make([]uint32, len(values))
	for i, v := range values {
		n, err := strconv.ParseUint(v, 10, 32)
		if err != nil || n == 1<<32-1 { // which chown and setuid take for "as it is"
			return itemError{i, fmt.Errorf("%q is not the number of a user or group, from 0 to %d", v, uint32(1<<32-2))}
		}
		ids[i] = uint32(n)
	}
	*into = ids
	return nil
}

// itemError is what is wrong with one of several values.
type itemError struct {
	index int
	error
}

// Unwrap returns what is wrong.
func (e itemError) Unwrap() error { return e.error }

// refusals count and log the connections to one kind of listener that were refused for who made them.
type refusals struct {
	log       zerolog.Logger
	peer, tls atomic.Int64
}

// newRefusals returns refusals that write at most ten lines a minute to log: whoever can connect can cause them.
func newRefusals(log zerolog.Logger) *refusals {
	return &refusals{log: log.Sample(&zerolog.BurstSampler{Burst: 10, Period: time.Minute})}
}

// refused notes one more; it is safe for concurrent use.
func (r *refusals) refused(what listen.Refusal) {
	n := &r.peer
	if what.Reason == listen.ReasonTLS {
		n = &r.tls
	}
	n.Add(1)
	r.log.Warn().Err(what.Err).Stringer("listen", what.Addr).Str("reason", string(what.Reason)).Msg("connection refused")
}

// warnOwnUser says that healthcheck, run as the daemon is, will be refused.
func warnOwnUser(log zerolog.Logger, cfg config) {
	uid, gids := uint32(os.Getuid()), ownGroups()
	if !cfg.Socket.Allow.Admits(uid, gids...) {
		log.Warn().Uint32("uid", uid).Uints32("gids", gids).
			Msg("socket.allowUids and socket.allowGids leave out the user of this daemon, so that sidecard healthcheck is refused if it runs as the same")
	}
}

func ownGroups() []uint32 {
	ids, _ := os.Getgroups() // none, if that cannot be told
	gids := []uint32{uint32(os.Getgid())}
	for _, id := range ids {
		gids = append(gids, uint32(id))
	}
	return gids
}
