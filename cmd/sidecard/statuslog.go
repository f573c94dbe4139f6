package main

import (
	"log"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// serverErrors is what net/http writes its own log lines to: failing accepts, broken requests.
type serverErrors struct {
	log    zerolog.Logger
	server string
}

// Write logs one line, as log.Logger writes them.
func (e serverErrors) Write(line []byte) (int, error) {
	e.log.Warn().Str("error", strings.TrimSpace(string(line))).Msg(e.server)
	return len(line), nil
}

// newServerLog returns a logger for a server of net/http that writes at most ten lines a minute to to:
// whoever can connect can cause them.
func newServerLog(to zerolog.Logger, server string) *log.Logger {
	return log.New(serverErrors{to.Sample(&zerolog.BurstSampler{Burst: 10, Period: time.Minute}), server}, "", 0)
}
