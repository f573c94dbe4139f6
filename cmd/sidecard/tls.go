package main

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/internal/certs"
	"github.com/sidecard/sidecard/internal/listen"
	"github.com/sidecard/sidecard/internal/metrics"
)

// tlsSettings are those of TCP addresses other than that of status.
func tlsSettings() []setting {
	file := func(into func(*config) *string) func(*config, []string) error {
		return func(c *config, v []string) error { *into(c) = v[0]; return nil }
	}
	return []setting{
		{key: "tls.cert", flag: "tls-cert", value: "FILE", usage: "certificate (PEM) that TCP addresses but that of status are served with; followed when it is replaced",
			set: file(func(c *config) *string { return &c.TLS.Cert })},
		{key: "tls.key", flag: "tls-key", value: "FILE", usage: "private key (PEM) of --tls-cert",
			set: file(func(c *config) *string { return &c.TLS.Key })},
		{key: "tls.ca", flag: "tls-ca", value: "FILE", usage: "authorities (PEM), of which one must have signed a client's certificate; without it clients need none",
			set: file(func(c *config) *string { return &c.TLS.CA })},
		{key: "allowPlaintext", flag: "allow-plaintext", usage: "serve decisions and the admin address without TLS also where other hosts can reach the address",
			set: func(c *config, v []string) error { return setBool(&c.AllowPlaintext, v[0]) }},
	}
}

// checkAccess says what is wrong with settings that are right each by itself: who could connect.
func (c config) checkAccess() []error {
	var errs []error
	fail := func(key, message string) { errs = append(errs, fmt.Errorf("%s: %s", c.source(key), message)) }
	switch {
	case c.TLS.Cert == "" && c.TLS.Key != "":
		fail("tls.key", "there is no tls.cert that it is the key of")
	case c.TLS.Cert != "" && c.TLS.Key == "":
		fail("tls.cert", "there is no tls.key to it")
	case c.TLS.Cert == "" && c.TLS.CA != "":
		fail("tls.ca", "there is no tls.cert to serve TLS with")
	}
	if c.TLS.Cert != "" || c.AllowPlaintext {
		return errs
	}
	for key, a := range c.exposed {
		errs = append(errs, fmt.Errorf("%s: %w; or serve it with TLS (--tls-cert, --tls-key), or allow it with --allow-plaintext", c.source(key), a.Loopback()))
	}
	return errs
}

// exposed calls yield with each address but that of status that other hosts can reach, and the key of its setting,
// until yield returns false. It is a sequence to range over.
func (c config) exposed(yield func(key string, a listen.Addr) bool) {
	for _, s := range []struct {
		key   string
		addrs []string
	}{{"listen", c.Listen}, {"http", []string{c.HTTP}}, {"admin", []string{c.Admin.Addr}}} {
		for _, text := range s.addrs {
			if a, err := listen.Parse(text); err == nil && a.Loopback() != nil && !yield(s.key, a) {
				return
			}
		}
	}
}

// source says where a setting was made, as errors about its value do.
func (c config) source(key string) string {
	if where, ok := c.sources[key]; ok {
		return where
	}
	return key
}

// note remembers where a setting was made.
func (c *config) note(key, where string) {
	if c.sources == nil {
		c.sources = make(map[string]string)
	}
	c.sources[key] = where
}

// loadCerts reads the certificates; nil without an error if there are none.
func loadCerts(cfg config, log zerolog.Logger) (*certs.Store, error) {
	if cfg.TLS.Cert == "" {
		return nil, nil
	}
	s, err := certs.Load(cfg.TLS, log)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return s, nil
}

// tlsServer returns what a listener speaks TLS with; nil if it speaks none.
func tlsServer(s *certs.Store, protocols ...string) *tls.Config {
	if s == nil {
		return nil
	}
	return s.Server(protocols...)
}

// certificates reads how the certificates stand; nil if there are none.
func (s *sockets) certificates() *metrics.Certificates {
	if s.certs == nil {
		return nil
	}
	st := s.certs.Status()
	return &metrics.Certificates{Reloads: st.Reloads, Failures: st.Failures, NotAfter: st.NotAfter}
}

// follow follows the certificates until ctx is done.
func (s *sockets) follow(ctx context.Context) error {
	if s.certs == nil {
		return nil
	}
	return s.certs.Run(ctx)
}

// warnPlaintext says which addresses other hosts can reach without encryption, which the operator allowed.
func warnPlaintext(log zerolog.Logger, cfg config) {
	if cfg.TLS.Cert != "" {
		return
	}
	for key, a := range cfg.exposed {
		log.Warn().Stringer(key, a).Msg("other hosts can reach this address, and whoever does may do all that is served there: there is neither encryption nor authentication")
	}
}
