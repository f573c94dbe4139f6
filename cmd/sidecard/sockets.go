package main

import (
	"context"
	"net"
	"slices"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/internal/certs"
	"github.com/sidecard/sidecard/internal/clock"
	"github.com/sidecard/sidecard/internal/listen"
	"github.com/sidecard/sidecard/internal/metrics"
)

// sockets are the open listeners of a daemon.
type sockets struct {
	grpc    []net.Listener
	http    []net.Listener // of the local API
	status  []net.Listener
	admin   []net.Listener
	peers   *listen.Peers       // of grpc
	clients listen.Counter      // of grpc
	locals  listen.Counter      // of http
	readers listen.Counter      // of status
	lookers listen.Counter      // of admin
	at      map[string][]string // where each setting's sockets listen, as configured or as inherited
	// Connections that were refused for who made them.
	strangers struct{ grpc, http, status, admin *refusals }
	certs     *certs.Store // of TCP addresses but that of status; nil: they are plain
}

// open takes what a service manager passed and binds every address that it did not stand for, or none.
func open(ctx context.Context, cfg config, log zerolog.Logger, lookup func(string) (string, bool)) (_ *sockets, err error) {
	s := &sockets{peers: listen.NewPeers(int64(peerGrace), clock.New().Now), at: make(map[string][]string)}
	for _, c := range []*listen.Counter{&s.clients, &s.locals, &s.readers} {
		c.Max = cfg.Limits.Connections
	}
	s.lookers.Max = adminConnections
	s.strangers.grpc, s.strangers.http, s.strangers.status, s.strangers.admin = newRefusals(log), newRefusals(log), newRefusals(log), newRefusals(log)
	passed, err := listen.Inherit(lookup)
	if err != nil {
		return nil, err
	}
	inherited := inheritance{sockets: passed}
	defer func() {
		if err != nil {
			inherited.close()
			s.close()
		}
	}()
	if s.certs, err = loadCerts(cfg, log); err != nil {
		return nil, err
	}
	own := listen.Options{Mode: cfg.Socket.Mode, Group: cfg.Socket.Group, Allow: cfg.Socket.Allow, Refused: s.strangers.grpc.refused}
	own.TLS, own.AllowNonLoopback = tlsServer(s.certs, "h2"), cfg.AllowPlaintext
	local := own
	local.TLS, local.Refused = tlsServer(s.certs, "http/1.1"), s.strangers.http.refused
	looking := local
	looking.Refused = s.strangers.admin.refused
	public := own
	public.TLS, public.AllowNonLoopback = nil, true // probes and scrapes come from the node and from Prometheus
	public.Refused = s.strangers.status.refused
	for _, of := range []struct {
		setting   string
		addresses []string
		options   listen.Options
		into      *[]net.Listener
		count     func(net.Listener) net.Listener
	}{
		{"listen", cfg.Listen, own, &s.grpc, func(l net.Listener) net.Listener { return s.clients.Listener(s.peers.Listener(l)) }},
		{"http", []string{cfg.HTTP}, local, &s.http, s.locals.Listener},
		{"status", []string{cfg.Status}, public, &s.status, s.readers.Listener},
		{"admin", []string{cfg.Admin.Addr}, looking, &s.admin, s.lookers.Listener},
	} {
		listeners, at, err := inherited.listeners(ctx, of.setting, of.addresses, of.options)
		if err != nil {
			return nil, err
		}
		for _, l := range listeners {
			*of.into = append(*of.into, of.count(l))
		}
		s.at[of.setting] = at
	}
	return s, inherited.strangers()
}

func (s *sockets) close() {
	for _, l := range slices.Concat(s.grpc, s.http, s.status, s.admin) {
		l.Close()
	}
}

// connections counts what is open and what was refused.
func (s *sockets) connections() []metrics.Connections {
	return []metrics.Connections{
		connectionsOf("grpc", &s.clients, s.strangers.grpc),
		connectionsOf("http", &s.locals, s.strangers.http),
		connectionsOf("status", &s.readers, s.strangers.status),
		connectionsOf("admin", &s.lookers, s.strangers.admin),
	}
}

func connectionsOf(listener string, c *listen.Counter, r *refusals) metrics.Connections {
	return metrics.Connections{Listener: listener, Open: c.Open(), Most: c.Max, Refused: map[string]int64{
		string(listen.ReasonLimit): c.Refused(), string(listen.ReasonPeer): r.peer.Load(), string(listen.ReasonTLS): r.tls.Load(),
	}}
}
