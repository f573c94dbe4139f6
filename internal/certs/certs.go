// Package certs reads a certificate, its key and the authorities of clients from files, and follows the
// files as they are replaced: connections that are made later get what was read last, if it is usable. It
// knows nothing of who listens, or of what is served.
package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"
)

// maxFile bounds each file. The largest bundles of authorities in use are a quarter of that.
const maxFile = 1 << 20

// Files name what is read, all of it PEM.
type Files struct {
	Cert string // the certificate, and those between it and its authority
	Key  string // its private key
	// CA holds the authorities that must have signed the certificate of a client. Empty: clients need
	// none.
	CA string
}

// Store holds what was last read from files and was usable. Make it with Load. All methods are safe for
// concurrent use, but only one Run at a time.
type Store struct {
	files    Files
	log      zerolog.Logger
	current  atomic.Pointer[material]
	reloads  atomic.Int64
	failures atomic.Int64
}

// material is the content of the files.
type material struct {
	raw     [3][]byte // as read, to tell whether anything has changed
	cert    tls.Certificate
	clients *x509.CertPool // nil: they need no certificate
}

// Load reads the files for the first time; what is wrong with them is an error.
func Load(files Files, log zerolog.Logger) (*Store, error) {
	m, err := read(files)
	if err != nil {
		return nil, err
	}
	s := &Store{files: files, log: log}
	s.current.Store(m)
	return s, nil
}

// Server returns what a TLS server works with that speaks one of the protocols, named as ALPN does. Each
// handshake uses what has been read last; TLS 1.2 is the oldest version. The result must not be changed.
func (s *Store) Server(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return s.current.Load().server(protocols), nil
		},
	}
}

func (m *material) server(protocols []string) *tls.Config {
	c := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		NextProtos:   protocols,
		Certificates: []tls.Certificate{m.cert},
		// A session that is resumed would go by the authorities of its beginning.
		SessionTicketsDisabled: true,
	}
	if m.clients != nil {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, m.clients
	}
	return c
}

// Status is how the files stand.
type Status struct {
	Reloads  int64     // changes that took effect
	Failures int64     // changes that did not, because what was read was unusable
	NotAfter time.Time // when the certificate in use expires
}

// Status returns how the files stand.
func (s *Store) Status() Status {
	return Status{Reloads: s.reloads.Load(), Failures: s.failures.Load(), NotAfter: s.current.Load().cert.Leaf.NotAfter}
}

// reload reads the files again. What was in use stays so if they are as they were, or unusable.
func (s *Store) reload() (changed bool, err error) {
	m, err := read(s.files)
	if err != nil {
		return false, err
	}
	for i, raw := range s.current.Load().raw {
		changed = changed || !bytes.Equal(raw, m.raw[i])
	}
	if changed {
		s.current.Store(m)
	}
	return changed, nil
}

func read(f Files) (*material, error) {
	m := new(material)
	for i, name := range []string{f.Cert, f.Key, f.CA} {
		var err error
		if name == "" && i == 2 {
			continue
		}
		if m.raw[i], err = readFile(name); err != nil {
			return nil, err
		}
	}
	var err error
	if m.cert, err = tls.X509KeyPair(m.raw[0], m.raw[1]); err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	if f.CA != "" {
		m.clients, err = pool(f.CA, m.raw[2])
	}
	return m, err
}

// pool returns the authorities of a file.
func pool(name string, raw []byte) (*x509.CertPool, error) {
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("authorities %s: no certificate in PEM is in it", name)
	}
	return p, nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe without a writer keeps nobody waiting
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > maxFile:
		return nil, fmt.Errorf("%s is longer than %d bytes", name, maxFile)
	}
	return raw, nil
}
