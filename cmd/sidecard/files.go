package main

import (
	"syscall"

	"github.com/rs/zerolog"
)

// otherFiles is how many files are open beside connections, with room to spare: listeners, the standard
// streams, what the runtime and the watching of rules need, rule files being read.
const otherFiles = 64

// openFiles returns how many files this process may have open, which the runtime has raised to the most
// that the process may allow itself; 0 if that cannot be told.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return limit.Cur
}

// filesWanted returns how many files are open when every connection that cfg allows is.
func (c config) filesWanted() uint64 {
	listeners := uint64(1)
	for _, addr := range []string{c.HTTP, c.Status} {
		if addr != "off" {
			listeners++
		}
	}
	wanted := listeners*uint64(c.Limits.Connections) + otherFiles
	if c.Admin.Addr != "off" {
		wanted += adminConnections
	}
	return wanted
}

// warnFiles says that limits.connections is more than the operating system lets be open. Connections
// beyond that wait unseen until others close, where limits.connections closes them at once and counts them.
func warnFiles(log zerolog.Logger, wanted, allowed uint64) {
	if allowed > 0 && allowed < wanted {
		log.Warn().Uint64("openFiles", allowed).Uint64("wanted", wanted).
			Msg("fewer files may be open than limits.connections can take, raise the limit of open files (ulimit -n, LimitNOFILE) or lower limits.connections")
	}
}
