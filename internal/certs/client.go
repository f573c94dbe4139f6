package certs

import (
	"crypto/tls"
	"errors"
	"fmt"
)

// Client says how a client speaks TLS.
type Client struct {
	CA   string // file of the authorities that must have signed the server's certificate; empty: those of the system
	Cert string // file of the client's certificate; empty: none
	Key  string // file of its private key
	Name string // name that the server's certificate must have; empty: the host that is dialled
}

// Config reads the files.
func (c Client) Config() (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.Name}
	if c.CA != "" {
		raw, err := readFile(c.CA)
		if err != nil {
			return nil, err
		}
		if out.RootCAs, err = pool(c.CA, raw); err != nil {
			return nil, err
		}
	}
	switch {
	case c.Cert == "" && c.Key == "":
		return out, nil
	case c.Cert == "" || c.Key == "":
		return nil, errors.New("a certificate and its key belong together: one of them is missing")
	}
	m, err := read(Files{Cert: c.Cert, Key: c.Key})
	if err != nil {
		return nil, fmt.Errorf("of the client: %w", err)
	}
	out.Certificates = []tls.Certificate{m.cert}
	return out, nil
}
