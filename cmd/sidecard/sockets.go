package main

import (
	"context"
	"fmt"
	"net"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/internal/clock"
	"github.com/sidecard/sidecard/internal/listen"
	"github.com/sidecard/sidecard/internal/metrics"
)

// sockets are the open listeners of a daemon.
type sockets struct {
	grpc    []net.Listener
	http    net.Listener   // of the local API; nil: off
	status  net.Listener   // nil: off
	peers   *listen.Peers  // of grpc
	clients listen.Counter // of grpc
	locals  listen.Counter // of http
	readers listen.Counter // of status
	// Connections that were refused for who made them.
	strangers struct{ grpc, http, status *refusals }
}

// open binds every address of the configuration, or none.
func open(ctx context.Context, cfg config, log zerolog.Logger) (_ *sockets, err error) {
	s := &sockets{peers: listen.NewPeers(int64(peerGrace), clock.New().Now)}
	for _, c := range []*listen.Counter{&s.clients, &s.locals, &s.readers} {
		c.Max = cfg.Limits.Connections
	}
	s.strangers.grpc, s.strangers.http, s.strangers.status = newRefusals(log), newRefusals(log), newRefusals(log)
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	own := listen.Options{Mode: cfg.Socket.Mode, Group: cfg.Socket.Group, Allow: cfg.Socket.Allow, Refused: s.strangers.grpc.refused}
	for _, text := range cfg.Listen {
		l, err := bind(ctx, text, own)
		if err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
		if l != nil {
			s.grpc = append(s.grpc, s.clients.Listener(s.peers.Listener(l)))
		}
	}
	local := own
	local.Refused = s.strangers.http.refused
	l, err := bind(ctx, cfg.HTTP, local)
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	if l != nil {
		s.http = s.locals.Listener(l)
	}
	public := own
	public.AllowNonLoopback = true // probes and scrapes come from the node and from Prometheus
	public.Refused = s.strangers.status.refused
	if l, err = bind(ctx, cfg.Status, public); err != nil {
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
	for _, l := range []net.Listener{s.http, s.status} {
		if l != nil {
			l.Close()
		}
	}
}

// connections counts what is open and what was refused.
func (s *sockets) connections() []metrics.Connections {
	return []metrics.Connections{
		connectionsOf("grpc", &s.clients, s.strangers.grpc),
		connectionsOf("http", &s.locals, s.strangers.http),
		connectionsOf("status", &s.readers, s.strangers.status),
	}
}

func connectionsOf(listener string, c *listen.Counter, r *refusals) metrics.Connections {
	return metrics.Connections{Listener: listener, Open: c.Open(), Most: c.Max, Refused: map[string]int64{
		string(listen.ReasonLimit): c.Refused(), string(listen.ReasonPeer): r.peer.Load(), string(listen.ReasonTLS): r.tls.Load(),
	}}
}
