package main

import (
	"crypto/tls"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/sidecard/sidecard/internal/certs"
	"github.com/sidecard/sidecard/internal/listen"
)

// clientTLS are the flags by which commands that ask a daemon speak TLS to a TCP address.
type clientTLS struct {
	on   bool
	with certs.Client
}

// addClientTLS defines the flags on cmd. Their values count from its RunE on. The defaults follow the
// variables of the daemon beside which the command runs.
func addClientTLS(cmd *cobra.Command, p process) *clientTLS {
	c := new(clientTLS)
	f := cmd.Flags()
	of := func(variable string) string { v, _ := p.lookup(variable); return v }
	f.BoolVar(&c.on, "tls", false, "speak TLS to a TCP address; any other --tls flag implies it")
	f.StringVar(&c.with.CA, "tls-ca", of("SIDECARD_TLS_CA"), "authorities (PEM) of the daemon's certificate; by default those of the system")
	f.StringVar(&c.with.Cert, "tls-cert", of("SIDECARD_TLS_CERT"), "certificate (PEM) to show to the daemon")
	f.StringVar(&c.with.Key, "tls-key", of("SIDECARD_TLS_KEY"), "private key (PEM) of --tls-cert")
	f.StringVar(&c.with.Name, "tls-name", "", "name that the daemon's certificate must have; by default the host of the address")
	return c
}

// config returns what to speak TLS to the address with; nil if it is not spoken there.
func (c *clientTLS) config(a listen.Addr) (*tls.Config, error) {
	if a.Network() != listen.NetworkTCP || !c.on && c.with == (certs.Client{}) {
		return nil, nil
	}
	return c.with.Config()
}

// credentials is config for gRPC.
func (c *clientTLS) credentials(a listen.Addr) (credentials.TransportCredentials, error) {
	config, err := c.config(a)
	if err != nil {
		return nil, err
	}
	if config == nil {
		return insecure.NewCredentials(), nil
	}
	return credentials.NewTLS(config), nil
}
