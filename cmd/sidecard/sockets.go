package main

import (
	"context"
	"fmt"
	"net"

	"github.com/sidecard/sidecard/internal/clock"
	"github.com/sidecard/sidecard/internal/listen"
	"github.com/sidecard/sidecard/internal/metrics"
)

// sockets are the open listeners of a daemon.
type sockets struct {
	grpc    []net.Listener
	status  net.Listener   // nil: off
	peers   *listen.Peers  // of grpc
	clients listen.Counter // of grpc
	readers listen.Counter // of status
}

// open binds every address of the configuration, or none.
func open(ctx context.Context, cfg config) (_ *sockets, err error) {
	s := &sockets{peers: listen.NewPeers(int64(peerGrace), clock.New().Now), clients: listen.Counter{Max: cfg.Limits.Connections}, readers: listen.Counter{Max: cfg.Limits.Connections}}
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
			s.grpc = append(s.grpc, s.clients.Listener(s.peers.Listener(l)))
		}
	}
	public := own
	public.AllowNonLoopback = true // probes and scrapes come from the node and from Prometheus
	l, err := bind(ctx, cfg.Status, public)
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	if l != nil {
		s.status = s.readers.Listener(l)
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

// connections counts what is open and what was refused.
func (s *sockets) connections() []metrics.Connections {
	return []metrics.Connections{
		{Listener: "grpc", Open: s.clients.Open(), Refused: s.clients.Refused()},
		{Listener: "status", Open: s.readers.Open(), Refused: s.readers.Refused()},
	}
}
