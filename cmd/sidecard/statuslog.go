package main

import (
	"log"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// statusErrors is what net/http writes its own log lines to: failing accepts, broken requests.
type statusErrors struct{ log zerolog.Logger }

// Write logs one line, as log.Logger writes them.
func (e statusErrors) Write(line []byte) (int, error) {
	e.log.Warn().Str("error", strings.TrimSpace(string(line))).Msg("status server")
	return len(line), nil
}

// newStatusLog returns a logger for net/http that writes at most ten lines a minute to to: whoever can
// connect can cause them.
func newStatusLog(to zerolog.Logger) *log.Logger {
	return log.New(statusErrors{to.Sample(&zerolog.BurstSampler{Burst: 10, Period: time.Minute})}, "", 0)
}
