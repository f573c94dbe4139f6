package main

import (
	"fmt"
	"net"
	"strings"

	"github.com/rs/zerolog"
)

// notifier tells a service manager how the daemon is, as sd_notify(3) does. The zero value tells nobody. It is
// safe for concurrent use.
type notifier struct {
	socket string // a path, or @name
	log    zerolog.Logger
}

func newNotifier(lookup func(string) (string, bool), log zerolog.Logger) notifier {
	socket, _ := lookup("NOTIFY_SOCKET")
	return notifier{socket: socket, log: log}
}

// send sends assignments such as READY=1. That it did not arrive is logged: the service manager will think
// that the daemon hangs.
func (n notifier) send(state ...string) {
	if n.socket == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: n.socket})
	if err == nil {
		_, err = conn.Write([]byte(strings.Join(state, "\n")))
		conn.Close()
	}
	if err != nil {
		n.log.Warn().Err(err).Strs("state", state).Msg("the service manager could not be told")
	}
}

// describeState is what `systemctl status` shows: whether rules are in force, and whether the newest are.
func describeState(ok, ready bool, rules int) string {
	switch {
	case ok:
		return fmt.Sprintf("STATUS=Serving %d rules", rules)
	case ready:
		return fmt.Sprintf("STATUS=Serving %d rules; newer rule files are wrong, see the log", rules)
	}
	return "STATUS=Not serving: the rule files are wrong, see the log"
}
