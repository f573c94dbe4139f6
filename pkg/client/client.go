// Package client asks a sidecard daemon on the same host or pod for decisions, over its HTTP address. It
// needs nothing but the standard library, keeps its connections, and starts no goroutine that outlives them.
//
//	c, err := client.New(client.Options{})
//	...
//	err = c.Do(ctx, "orders", map[string]string{"header.x-user-id": "bob"}, func() error { return charge(ctx) })
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/sidecard/sidecard/internal/listen"
)

// DefaultAddr is where a daemon that was told nothing else serves its HTTP address.
const DefaultAddr = "unix:/run/sidecard/http.sock"

// Options say which daemon to ask. The zero value asks the one at DefaultAddr.
type Options struct {
	Addr   string // unix:/path.sock, unix:@name or tcp:host:port; empty: DefaultAddr
	Domain string // of requests that name none; empty: the daemon's default, "sidecard"
	// TLS is what TLS is spoken with, as daemons do on TCP addresses that have a certificate; nil: none is
	// spoken. Without a ServerName it is the host of Addr. New keeps a copy.
	TLS *tls.Config
	// MaxIdle is how many connections are kept for later calls; 0: 32.
	MaxIdle int
}

// Client asks one daemon. Make it with New. Its methods are safe for concurrent use. It connects when it is
// first used, and again whenever that is needed, so that the daemon may start later or anew.
type Client struct {
	domain string
	base   string // of URLs
	http   *http.Client
}

// New returns a client. The error is about the address; whether somebody serves it, the first call tells.
func New(o Options) (*Client, error) {
	if o.Addr == "" {
		o.Addr = DefaultAddr
	}
	addr, err := listen.Parse(o.Addr)
	if err == nil && addr.Off() {
		err = errors.New("off is no address to ask")
	}
	if err != nil {
		return nil, fmt.Errorf("sidecard client: %w", err)
	}
	if o.MaxIdle <= 0 {
		o.MaxIdle = 32
	}
	return &Client{domain: o.Domain, base: base(addr, o.TLS != nil), http: &http.Client{
		Transport: &http.Transport{
			DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return listen.Dial(ctx, addr) },
			TLSClientConfig:     o.TLS.Clone(),
			MaxIdleConnsPerHost: o.MaxIdle,
			MaxIdleConns:        o.MaxIdle,
			IdleConnTimeout:     90 * time.Second, // before the daemon, which waits for two minutes
			DisableCompression:  true,
		},
		// Nobody there redirects.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// base returns what URLs of the daemon begin with. Their host matters for TLS alone.
func base(addr listen.Addr, secure bool) string {
	host := "sidecard"
	if addr.Network() == listen.NetworkTCP {
		host = strings.TrimPrefix(addr.String(), listen.NetworkTCP+":")
	}
	if secure {
		return "https://" + host
	}
	return "http://" + host
}

// Close gives up the connections that no call uses. The client can be used afterwards.
func (c *Client) Close() { c.http.CloseIdleConnections() }
