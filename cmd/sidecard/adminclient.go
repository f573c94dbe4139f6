package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sidecard/sidecard/internal/listen"
	"github.com/sidecard/sidecard/pkg/admin"
)

// adminVariable is the variable of the setting admin.
const adminVariable = "SIDECARD_ADMIN"

const (
	adminTimeout = 10 * time.Second // of one request
	maxAdmin     = 64 << 20         // bytes of an answer
)

// adminFlags are the flags of commands that ask the admin address of a daemon.
type adminFlags struct {
	addr   *string
	secure *clientTLS
}

// addAdmin defines them on cmd; what is the name of the flag with the address.
func addAdmin(cmd *cobra.Command, p process, name string) adminFlags {
	fallback := defaultAdmin
	if addr, _ := p.lookup(adminVariable); addr != "" {
		fallback = addr
	}
	addr := cmd.Flags().String(name, fallback, "admin `address` of the daemon; the default follows SIDECARD_ADMIN")
	return adminFlags{addr, addClientTLS(cmd, p)}
}

// client returns a client of the address, which is to be closed.
func (f adminFlags) client(name string) (*adminClient, error) {
	a, err := listen.Parse(*f.addr)
	if err == nil && a.Off() {
		err = errors.New("off is no address to ask")
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("--%s: %w", name, err)}
	}
	config, err := f.secure.config(a)
	if err != nil {
		return nil, usageError{err}
	}
	base := url.URL{Scheme: "http", Host: adminHost(a)}
	if config != nil {
		base.Scheme = "https"
	}
	return &adminClient{base: base.String(), plain: config == nil && a.Network() == listen.NetworkTCP, http: &http.Client{
		Timeout: adminTimeout,
		Transport: &http.Transport{
			DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return listen.Dial(ctx, a) },
			TLSClientConfig: config,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// adminHost is the host of URLs: what the daemon takes for its own name, and its certificate is compared with.
func adminHost(a listen.Addr) string {
	if a.Network() != listen.NetworkTCP {
		return "localhost"
	}
	address := strings.TrimPrefix(a.String(), listen.NetworkTCP+":")
	if port, all := strings.CutPrefix(address, ":"); all {
		return "localhost:" + port
	}
	return address
}

// adminClient asks the admin address of one daemon.
type adminClient struct {
	base  string
	plain bool // over TCP without TLS
	http  *http.Client
}

func (c *adminClient) close() { c.http.CloseIdleConnections() }

// get reads an answer of the API into v.
func (c *adminClient) get(ctx context.Context, path string, v any) error {
	body, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%s: the answer is not understood: %w", path, err)
	}
	return nil
}

// do sends a request, with a body of JSON if there is one, and returns the body of the answer.
func (c *adminClient) do(ctx context.Context, method, path string, send any) ([]byte, error) {
	text, err := json.Marshal(send)
	if err != nil {
		return nil, err
	}
	if send == nil {
		text = nil
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(r)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // the URL has no meaning to whoever gave an address
		}
		if c.plain && errors.Is(err, io.EOF) {
			err = errors.New("the connection was closed without an answer; if the daemon serves TLS there, give --tls or --tls-ca")
		}
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAdmin))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return body, nil
	}
	var f admin.Failure
	if json.Unmarshal(body, &f) != nil || f.Error == "" {
		return nil, fmt.Errorf("the answer has status %d; is this the admin address of sidecard?", answer.StatusCode)
	}
	return nil, errors.New(f.Error)
}

// showing makes cmd a command that shows what a path of the admin address says, as it came or as text.
func showing[T any](cmd *cobra.Command, p process, path string, text func(io.Writer, *T) error) *cobra.Command {
	ask, output := addAdmin(cmd, p, "addr"), outputFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := output.check(); err != nil {
			return err
		}
		c, err := ask.client("addr")
		if err != nil {
			return err
		}
		defer c.close()
		v := new(T)
		if err := c.get(p.stop, path, v); err != nil {
			return err
		}
		if output.json() {
			return writeIndented(p.stdout, v)
		}
		return text(p.stdout, v)
	}
	return cmd
}
