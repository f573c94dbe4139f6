package page

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// daemon is a sidecard of one test.
type daemon struct {
	t       *testing.T
	rules   string // directory
	url     string // of the page
	socket  string // of the local API
	args    []string
	process *envoytest.Process
	client  *http.Client
}

// orders are rules of which the first refuses what the second would let pass.
const orders = `[
  {"id": "orders-per-user", "resource": "orders", "count": 5, "intervalSec": 60,
   "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}},
  {"id": "orders-all", "resource": "orders", "count": 1000, "intervalSec": 60},
  {"id": "search-all", "resource": "search", "count": 1000, "shadow": true}
]`

// start starts a daemon over one file of gateway rules, or over none if it is empty.
func start(t *testing.T, rules string) *daemon {
	t.Helper()
	if browser == nil {
		t.Skip(missing)
	}
	program := os.Getenv("SIDECARD")
	if program == "" {
		program = "sidecard"
	}
	program, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%v: run `make page`, or set SIDECARD", err)
	}
	dir, err := os.MkdirTemp("", "page") // short, as a path of sockets must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &daemon{t: t, rules: filepath.Join(dir, "rules"), socket: filepath.Join(dir, "http.sock")}
	if err := os.Mkdir(d.rules, 0o755); err != nil {
		t.Fatal(err)
	}
	if rules != "" {
		d.write(rules)
	}
	port, err := envoytest.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + strconv.Itoa(port)
	d.url = "http://" + address + "/"
	d.args = []string{filepath.Join(dir, "log"), program, "serve", "--rules", d.rules, "--listen", "unix:" + filepath.Join(dir, "grpc.sock"),
		"--http", "unix:" + d.socket, "--status", "off", "--admin", "tcp:" + address}
	d.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", d.socket)
	}}}
	d.serve()
	t.Cleanup(func() {
		d.client.CloseIdleConnections()
		d.stop()
		if t.Failed() {
			t.Log(d.process.Tail(15))
		}
	})
	return d
}

// serve starts the process, and waits until its page is there, and what became of the rules if there is a file of them.
func (d *daemon) serve() {
	d.t.Helper()
	p, err := envoytest.StartProcess(d.args[0], d.args[1], d.args[2:]...)
	if err != nil {
		d.t.Fatal(err)
	}
	d.process = p
	ctx, cancel := context.WithTimeout(d.t.Context(), limit)
	defer cancel()
	err = envoytest.Poll(ctx, "the page", func(ctx context.Context) (bool, error) {
		status, text, err := envoytest.Fetch(ctx, d.url+"api/v1/status")
		_, none := os.Stat(d.file())
		return status == http.StatusOK && (none != nil || strings.Contains(text, `"ready":true`) || strings.Contains(text, `"error":{`)), err
	})
	if err != nil {
		d.t.Fatalf("%v\n%s", err, p.Tail(15))
	}
}

func (d *daemon) stop() {
	if err := d.process.Stop(10 * time.Second); err != nil {
		d.t.Error(err)
	}
}

// file is the path of the rule file.
func (d *daemon) file() string { return filepath.Join(d.rules, "gw-flow-rules.json") }

// write puts a file of gateway rules in place, as an editor does.
func (d *daemon) write(rules string) {
	d.t.Helper()
	file := d.file()
	if err := os.WriteFile(file+".new", []byte(rules), 0o644); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		d.t.Fatal(err)
	}
}

// ask asks for n decisions; pairs are attributes. It returns how many were allowed.
func (d *daemon) ask(n int, resource string, pairs ...string) int {
	d.t.Helper()
	attributes := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		attributes[pairs[i]] = pairs[i+1]
	}
	body, err := json.Marshal(map[string]any{"resource": resource, "attributes": attributes})
	if err != nil {
		d.t.Fatal(err)
	}
	allowed := 0
	for range n {
		r, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, "http://sidecard/v1/decide", bytes.NewReader(body))
		if err != nil {
			d.t.Fatal(err)
		}
		answer, err := d.client.Do(r)
		if err != nil {
			d.t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		var decision struct{ Allowed bool }
		if err != nil || answer.StatusCode != http.StatusOK || json.Unmarshal(text, &decision) != nil {
			d.t.Fatalf("%d %s %v", answer.StatusCode, text, err)
		}
		if decision.Allowed {
			allowed++
		}
	}
	return allowed
}
