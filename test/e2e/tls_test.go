//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/goccy/go-yaml"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/sidecard/sidecard/internal/testkit/certtest"
	"github.com/sidecard/sidecard/internal/testkit/configmap"
	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// secret is a directory of certificates, written as the kubelet writes a mounted secret.
type secret struct {
	t   *testing.T
	dir string
	ca  *certtest.CA
}

func newSecret(t *testing.T, ca *certtest.CA) *secret {
	t.Helper()
	s := &secret{t: t, dir: filepath.Join(t.TempDir(), "tls"), ca: ca}
	s.rotate()
	return s
}

func (s *secret) path(name string) string { return filepath.Join(s.dir, name) }

// rotate puts a new certificate in place and returns its serial number.
func (s *secret) rotate() int64 {
	s.t.Helper()
	cert, key, serial := s.ca.Issue(s.t)
	s.put(cert, key)
	return serial
}

func (s *secret) put(cert, key []byte) {
	s.t.Helper()
	if err := configmap.Write(s.dir, map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": s.ca.PEM()}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *secret) serve() []string {
	return []string{"--tls-cert", s.path("tls.crt"), "--tls-key", s.path("tls.key"), "--tls-ca", s.path("ca.crt")}
}

// tcp is an address that other hosts can reach, and the one by which this host does.
func tcp(t *testing.T) (all, local string) {
	t.Helper()
	port, err := envoytest.FreePort(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	return "tcp:0.0.0.0:" + strconv.Itoa(port), "127.0.0.1:" + strconv.Itoa(port)
}

// Only clients whose certificate an authority of the daemon has signed get an answer, and they give none
// to a daemon that they do not trust.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := certtest.New(t, "ours"), certtest.New(t, "theirs")
	daemonFiles, friend, stranger := newSecret(t, ours), newSecret(t, ours), newSecret(t, theirs)
	all, local := tcp(t)
	allHTTP, localHTTP := tcp(t)
	d := alone(t, 0, rules(t, rulesFile, closedOrders), append(daemonFiles.serve(), "--listen", all, "--http", allHTTP)...)
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	shown := func(s *secret) []string {
		return []string{"--tls-cert", s.path("tls.crt"), "--tls-key", s.path("tls.key")}
	}
	trusts := func(s *secret) []string { return []string{"--tls-ca", s.path("ca.crt")} }
	refused := 0.0
	for _, tc := range []struct {
		name    string
		flags   []string
		env     []string
		want    string
		refused float64
	}{
		{name: "a client of ours", flags: append(trusts(friend), shown(friend)...), want: "SERVING"},
		{name: "by the variables of the daemon", env: []string{"SIDECARD_LISTEN=tcp:" + local, "SIDECARD_TLS_CERT=" + friend.path("tls.crt"), "SIDECARD_TLS_KEY=" + friend.path("tls.key"), "SIDECARD_TLS_CA=" + friend.path("ca.crt")}, want: "SERVING"},
		{name: "no certificate", flags: trusts(friend), want: "no answer", refused: 1},
		{name: "one of another authority", flags: append(trusts(friend), shown(stranger)...), want: "no answer", refused: 1},
		{name: "who does not trust the daemon", flags: append(trusts(stranger), shown(friend)...), want: "unknown authority", refused: 1},
		{name: "who knows the daemon by another name", flags: append(append(trusts(friend), shown(friend)...), "--tls-name", "example.org"), want: "not example.org", refused: 1},
		{name: "in plain text", want: "no answer", refused: 1},
	} {
		args := append([]string{"healthcheck"}, tc.flags...)
		if tc.env == nil {
			args = append(args, "--addr", "tcp:"+local)
		}
		cmd := exec.CommandContext(soon(t), sidecard(t), args...)
		cmd.Env = append(os.Environ(), tc.env...)
		out, err := cmd.CombinedOutput()
		if (err == nil) != (tc.want == "SERVING") || !strings.Contains(string(out), tc.want) {
			t.Errorf("%s: got %v, %s, want %q", tc.name, err, out, tc.want)
		}
		refused += tc.refused
	}
	d.until("refusals to be counted", func(ctx context.Context) (bool, error) {
		_, body, err := envoytest.Fetch(ctx, d.page("/metrics"))
		if err != nil {
			return false, err
		}
		_, n, err := envoytest.Sample(body, "sidecard_connections_refused_total", `listener="grpc"`, `reason="tls"`)
		return n >= refused, err
	})
	logged(t, d.Process, "connection refused", `"reason":"tls"`, "client didn't provide a certificate")
	// The local API goes by the same certificates.
	mine, err := tls.LoadX509KeyPair(friend.path("tls.crt"), friend.path("tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, shows := range [][]tls.Certificate{{mine}, nil} {
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: ours.Pool(), Certificates: shows}}}
		reply, err := c.Post("https://"+localHTTP+"/v1/decide", "application/json", strings.NewReader(`{"resource": "orders"}`))
		if err == nil {
			reply.Body.Close()
		}
		if (err == nil) != (shows != nil) || err == nil && reply.StatusCode != http.StatusOK {
			t.Errorf("a decision over HTTPS with %d certificates: %v, %v", len(shows), reply, err)
		}
	}
	d.untilMetric(1, "sidecard_connections_refused_total", `listener="http"`, `reason="tls"`)
	if out, err := exec.CommandContext(soon(t), sidecard(t), "healthcheck", "--addr", "unix:"+d.socket).CombinedOutput(); err != nil {
		t.Errorf("over the Unix socket: %v, %s", err, out)
	}
}

// Without TLS an address that other hosts can reach is refused, unless it is allowed by name.
func TestPlaintextIsRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	all, local := tcp(t)
	code, out := sidecardFails(t, "serve", "--listen", all, "--rules", t.TempDir())
	if code != 2 || !strings.Contains(out, "other hosts could reach it, with neither encryption nor authentication") || !strings.Contains(out, "--allow-plaintext") {
		t.Errorf("got exit code %d and %s", code, out)
	}
	code, out = sidecardFails(t, "serve", "--listen", all, "--rules", t.TempDir(), "--tls-cert", "/none.crt", "--tls-key", "/none.key")
	if code != 1 || !strings.Contains(out, "/none.crt: no such file") {
		t.Errorf("got exit code %d and %s", code, out)
	}
	d := alone(t, 0, rules(t, rulesFile, closedOrders), "--listen", all, "--allow-plaintext")
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	logged(t, d.Process, `"level":"warn"`, all, "neither encryption nor authentication")
	if out, err := exec.CommandContext(soon(t), sidecard(t), "healthcheck", "--addr", "tcp:"+local).CombinedOutput(); err != nil {
		t.Errorf("healthcheck: %v, %s", err, out)
	}
}

// Certificates are replaced while calls are made over connections old and new, none of which fails.
func TestCertificatesAreRotatedUnderLoad(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t, "ca")
	files, own := newSecret(t, ca), newSecret(t, ca)
	all, local := tcp(t)
	d := alone(t, 0, rules(t, rulesFile, closedOrders), append(files.serve(), "--listen", all)...)
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	mine, err := tls.LoadX509KeyPair(own.path("tls.crt"), own.path("tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	var newest atomic.Int64 // serial number that a connection was served with
	config := &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{mine}, VerifyConnection: func(s tls.ConnectionState) error {
		newest.Store(s.PeerCertificates[0].SerialNumber.Int64())
		return nil
	}}
	dial := func() *grpc.ClientConn {
		conn, err := grpc.NewClient("passthrough:///"+local, grpc.WithTransportCredentials(credentials.NewTLS(config)))
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	call := func(conn *grpc.ClientConn) error {
		code, err := decide(t.Context(), conn, "orders")
		if err == nil && code != rlspb.RateLimitResponse_OVER_LIMIT {
			err = fmt.Errorf("answered %v", code)
		}
		return err
	}
	var made, failed atomic.Int64
	var load sync.WaitGroup
	stop := make(chan struct{})
	each := func(once func() error) {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				made.Add(1)
				if err := once(); err != nil {
					failed.Add(1)
					t.Error(err)
					return
				}
			}
		})
	}
	old := dial()
	defer old.Close()
	each(func() error { return call(old) })
	for range 2 {
		each(func() error {
			conn := dial()
			defer conn.Close()
			return call(conn)
		})
	}
	serving := func(serial int64) {
		d.until(fmt.Sprintf("certificate %d", serial), func(context.Context) (bool, error) {
			got := newest.Load()
			return got == serial, fmt.Errorf("it is %d", got)
		})
	}
	const rotations = 5
	last := int64(0)
	for range rotations {
		last = files.rotate()
		serving(last)
	}
	cert, _, _ := ca.Issue(t)
	_, key, _ := ca.Issue(t)
	files.put(cert, key) // which do not belong together
	d.untilMetric(1, "sidecard_tls_reloads_total", `result="error"`)
	logged(t, d.Process, `"level":"error"`, "certificate not reloaded, the one before it stays in use", "private key does not match public key")
	serving(last)
	serving(files.rotate())
	close(stop)
	load.Wait()
	d.untilMetric(rotations+1, "sidecard_tls_reloads_total", `result="success"`)
	t.Logf("%d calls over %d certificates, %d failed", made.Load(), rotations+2, failed.Load())
}

// A real Envoy asks over TCP with the transport socket that the documentation shows.
func TestEnvoyOverMutualTLS(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t, "ca")
	daemonFiles, envoyFiles := newSecret(t, ca), newSecret(t, ca)
	all, local := tcp(t)
	port, err := strconv.Atoi(strings.TrimPrefix(local, "127.0.0.1:"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := envoytest.Start(soon(t), envoytest.Options{
		Envoy: envoy(t), Sidecard: sidecard(t), Bootstrap: bootstrap, Dir: shortDir(t), Rules: rules(t, rulesFile, closedOrders),
		Args: append(daemonFiles.serve(), "--listen", all),
		Cluster: func(cluster map[string]any) {
			for name, part := range transportSocket(t, envoyFiles.dir) {
				cluster[name] = part
			}
			cluster["load_assignment"] = map[string]any{"cluster_name": "sidecard", "endpoints": []any{map[string]any{"lb_endpoints": []any{
				map[string]any{"endpoint": map[string]any{"address": map[string]any{"socket_address": map[string]any{"address": "127.0.0.1", "port_value": port}}}},
			}}}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("ends of the logs:\n" + s.Tails(30))
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := envoytest.Poll(soon(t), "Envoy to find the daemon healthy", func(ctx context.Context) (bool, error) {
		_, clusters, err := envoytest.Fetch(ctx, s.AdminURL+"/clusters")
		return strings.Contains(clusters, "sidecard::"+local+"::health_flags::healthy\n"), err
	}); err != nil {
		t.Fatal(err)
	}
	c := client(t, "")
	wantLimited(t, s, c)
	if got := send(t, c, 5, func() *http.Request { return request(t, http.MethodGet, s.URL+"/search") }); got.Passed != 5 {
		t.Errorf("a route without a rule: %+v", got)
	}
	wantNoErrors(t, s)
}

// transportSocket reads the part of a cluster that the documentation shows, with certificates in dir.
func transportSocket(t *testing.T, dir string) map[string]any {
	t.Helper()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\ntransport_socket:")
	text, _, ok := strings.Cut("transport_socket:"+rest, "```")
	if !ok || !strings.Contains(text, "/etc/sidecard-tls/") {
		t.Fatal("docs/security.md shows no transport_socket")
	}
	var part map[string]any
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "/etc/sidecard-tls/", dir+"/")), &part); err != nil {
		t.Fatal(err)
	}
	return part
}
