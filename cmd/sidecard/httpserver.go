package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"
)

// newHTTPServer makes the server of the local API, which no slow or silent client can hold resources of for
// long. It has no WriteTimeout, because answers may be held back; h bounds how long writing one takes.
func newHTTPServer(h http.Handler, log zerolog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          newServerLog(log, "http server"),
	}
}

func serveHTTP(server *http.Server, l net.Listener, what string) error {
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s server: %w", what, err)
	}
	return nil
}

// stopHTTP lets requests in flight end, for a short time only.
func stopHTTP(kill context.Context, server *http.Server) {
	ctx, cancel := context.WithTimeout(kill, goodbye)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
}
