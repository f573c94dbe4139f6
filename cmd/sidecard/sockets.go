package main

import (
	"context"
	"fmt"
	"net"

	"github.com/sidecard/sidecard/internal/listen"
)

// sockets are the open listeners of a daemon.
type sockets struct {
	grpc    []net.Listener
	status  net.Listener // nil: off
	clients listen.Counter
}

// open binds every address of the configuration, or none.
func open(ctx context.Context, cfg config) (_ *sockets, err error) {
	s := new(sockets)
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	own := listen.Options{Mode: cfg.Socket.Mode, Group: cfg.Socket.Group}
	for _, text := range cfg.Listen {
		l, err := bind(ctx, text, own)
		if err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
		if l != nil {
			s.grpc = append(s.grpc, s.clients.Listener(l))
		}
	}
	public := own
	public.AllowNonLoopback = true // probes and scrapes come from the node and from Prometheus
	if s.status, err = bind(ctx, cfg.Status, public); err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	return s, nil
}

func bind(ctx context.Context, text string, o listen.Options) (net.Listener, error) {
	a, err := listen.Parse(text)
	if err != nil {
		return nil, err
	}
	return listen.Listen(ctx, a, o)
}

func (s *sockets) close() {
	for _, l := range s.grpc {
		l.Close()
	}
	if s.status != nil {
		s.status.Close()
	}
}
