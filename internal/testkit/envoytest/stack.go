package envoytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// grace is how long a child may take to end after SIGTERM.
const grace = 20 * time.Second

// Options say what a Stack is made of. All but Socket, Args, Wrap and Cluster are required.
type Options struct {
	Envoy     string // the Envoy binary
	Sidecard  string // the daemon's binary
	Bootstrap string // Envoy bootstrap as shipped
	Rules     string // rule file or directory, given to the daemon
	Dir       string // existing directory for socket, logs and Envoy's configuration; a short path, since that of a socket is limited to 107 bytes
	Socket    string // of the daemon: a path, or @name for an abstract one; empty: a file in Dir
	Args      []string
	Wrap      []string                     // a command that the daemon's is appended to, such as nice; SIGTERM to it must end the daemon
	Cluster   func(cluster map[string]any) // changes how Envoy reaches the daemon, as Addresses says; nil: as shipped
}

// Stack is an application, the daemon and an Envoy that asks it, on addresses of their own. It is
// made by Start and ended by Stop; it is not for concurrent use, its URLs are.
type Stack struct {
	URL      string // where clients send their requests
	Address  string // the same, as host:port
	AdminURL string // Envoy's admin page
	Status   string // URL of the daemon's status port
	Socket   string // of the daemon: a path or @name
	HTTP     string // path of the daemon's socket of the local API
	Admin    string // path of the daemon's admin socket
	Upstream *Upstream
	Sidecard *Process // the daemon last started
	Envoy    *Process

	options Options
	daemons []*Process // all that were started
}

// Start starts the application, the daemon and Envoy, and waits until Envoy serves. It does not
// wait for the daemon to have rules: see WaitReady. On an error nothing is left running, and the
// error carries the ends of the logs.
func Start(ctx context.Context, o Options) (_ *Stack, err error) {
	s := &Stack{options: o, Socket: o.Socket, HTTP: filepath.Join(o.Dir, "http.sock"), Admin: filepath.Join(o.Dir, "admin.sock")}
	if s.Socket == "" {
		s.Socket = filepath.Join(o.Dir, "sidecard.sock")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, errors.New(s.Tails(15)), s.Stop())
		}
	}()
	if s.Upstream, err = StartUpstream(); err != nil {
		return nil, err
	}
	port, err := FreePort(ctx)
	if err != nil {
		return nil, err
	}
	s.Status = "http://127.0.0.1:" + strconv.Itoa(port)
	if err := s.StartSidecard(); err != nil {
		return nil, err
	}
	if err := s.WaitListening(ctx); err != nil {
		return nil, err
	}
	return s, s.StartEnvoy(ctx)
}

// StartSidecard starts a daemon on the stack's socket: at Start, and again by a test that stopped
// the last one.
func (s *Stack) StartSidecard() error {
	args := append([]string{"serve", "--rules", s.options.Rules, "--listen", "unix:" + s.Socket,
		"--http", "unix:" + s.HTTP, "--status", "tcp:" + strings.TrimPrefix(s.Status, "http://"), "--admin", "unix:" + s.Admin}, s.options.Args...)
	command := slices.Concat(s.options.Wrap, []string{s.options.Sidecard}, args)
	p, err := StartProcess(filepath.Join(s.options.Dir, "sidecard.log"), command[0], command[1:]...)
	if err != nil {
		return err
	}
	s.Sidecard = p
	s.daemons = append(s.daemons, p)
	return nil
}

// StartEnvoy starts an Envoy, on addresses of its own, and waits until it serves: at Start, and again by a
// test that has ended the last one.
func (s *Stack) StartEnvoy(ctx context.Context) error {
	shipped, err := os.ReadFile(s.options.Bootstrap)
	if err != nil {
		return err
	}
	bootstrap, err := Bootstrap(shipped, Addresses{Socket: s.Socket, Upstream: s.Upstream.Port(), Cluster: s.options.Cluster})
	if err != nil {
		return err
	}
	config, admin := filepath.Join(s.options.Dir, "envoy.json"), filepath.Join(s.options.Dir, "admin")
	if err := os.Remove(admin); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(config, bootstrap, 0o644); err != nil {
		return err
	}
	s.Envoy, err = StartProcess(filepath.Join(s.options.Dir, "envoy.log"), s.options.Envoy,
		"--config-path", config, "--admin-address-path", admin, "--disable-hot-restart", "--concurrency", "2", "--log-level", "warning")
	if err != nil {
		return err
	}
	err = s.poll(ctx, "Envoy's admin page", func(context.Context) (bool, error) {
		address, err := os.ReadFile(admin)
		s.AdminURL = "http://" + strings.TrimSpace(string(address))
		return err == nil && len(address) > 0, err
	})
	if err != nil {
		return err
	}
	return s.poll(ctx, "Envoy to serve", func(ctx context.Context) (bool, error) {
		status, body, err := Fetch(ctx, s.AdminURL+"/ready")
		if err != nil || status != http.StatusOK {
			return false, errors.Join(err, fmt.Errorf("/ready: %d %s", status, body))
		}
		s.Address, err = s.listener(ctx)
		s.URL = "http://" + s.Address
		return err == nil, err
	})
}

// listener asks Envoy for the address that it listens on.
func (s *Stack) listener(ctx context.Context) (string, error) {
	_, body, err := Fetch(ctx, s.AdminURL+"/listeners?format=json")
	if err != nil {
		return "", err
	}
	var page struct {
		Statuses []struct {
			Address struct {
				Socket struct {
					Address string
					Port    int `json:"port_value"`
				} `json:"socket_address"`
			} `json:"local_address"`
		} `json:"listener_statuses"`
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		return "", err
	}
	if len(page.Statuses) != 1 || page.Statuses[0].Address.Socket.Port == 0 {
		return "", fmt.Errorf("listeners: %s", body)
	}
	at := page.Statuses[0].Address.Socket
	return at.Address + ":" + strconv.Itoa(at.Port), nil
}

// WaitListening waits until the daemon's status port answers.
func (s *Stack) WaitListening(ctx context.Context) error {
	return s.poll(ctx, "the daemon's status port", func(ctx context.Context) (bool, error) {
		status, body, err := Fetch(ctx, s.Status+"/livez")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("/livez: %d %s", status, body)
		}
		return err == nil, err
	})
}

// WaitReady waits until the daemon has rules and Envoy's health check has seen it serve.
func (s *Stack) WaitReady(ctx context.Context) error {
	return s.poll(ctx, "Envoy to find the daemon healthy", func(ctx context.Context) (bool, error) {
		healthy, err := s.Healthy(ctx)
		return healthy && err == nil, err
	})
}

// Healthy says whether Envoy's health check finds the daemon serving.
func (s *Stack) Healthy(ctx context.Context) (bool, error) {
	_, body, err := Fetch(ctx, s.AdminURL+"/clusters")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, "sidecard::"+s.Socket+"::health_flags::"); ok {
			return strings.TrimSpace(rest) == "healthy", nil
		}
	}
	return false, fmt.Errorf("no health flags of the daemon in %q", body)
}

// Limits are Envoy's counters of what the daemon answered. Errors are calls that got no answer, and
// Allowed the requests of such that passed unlimited, which is all of them as the bootstrap ships.
type Limits struct{ OK, Over, Errors, Allowed int64 }

// Limits reads Envoy's counters.
func (s *Stack) Limits(ctx context.Context) (Limits, error) {
	_, stats, err := Fetch(ctx, s.AdminURL+"/stats?filter=ratelimit")
	if err != nil {
		return Limits{}, err
	}
	ok, err1 := EnvoyCounter(stats, "cluster.app.ratelimit.ok")
	over, err2 := EnvoyCounter(stats, "cluster.app.ratelimit.over_limit")
	failed, err3 := EnvoyCounter(stats, "cluster.app.ratelimit.error")
	allowed, err4 := EnvoyCounter(stats, "cluster.app.ratelimit.failure_mode_allowed")
	return Limits{OK: ok, Over: over, Errors: failed, Allowed: allowed}, errors.Join(err1, err2, err3, err4)
}

// Metrics reads the daemon's /metrics page.
func (s *Stack) Metrics(ctx context.Context) (string, error) {
	status, body, err := Fetch(ctx, s.Status+"/metrics")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("/metrics: %d", status)
	}
	return body, err
}

// poll is Poll that gives up when a child ends.
func (s *Stack) poll(ctx context.Context, what string, ok func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, p := range []*Process{s.Sidecard, s.Envoy} {
		if p == nil {
			continue
		}
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			select {
			case <-p.Done():
				cancel(fmt.Errorf("%s ended (%v)", p.name, p.err))
			case <-stop:
			}
		}()
	}
	err := Poll(ctx, what, ok)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// Tails returns the last lines of the children's logs.
func (s *Stack) Tails(lines int) string {
	var b strings.Builder
	for _, p := range []*Process{s.Sidecard, s.Envoy} {
		if p != nil {
			b.WriteString(p.Tail(lines))
		}
	}
	return b.String()
}

// Stop ends everything that the stack started, and waits for it: Envoy first, so that no daemon has
// to wait for its calls, and the application last.
func (s *Stack) Stop() error {
	var errs []error
	if s.Envoy != nil {
		errs = append(errs, s.Envoy.Stop(grace))
	}
	for _, p := range s.daemons {
		errs = append(errs, p.Stop(grace))
	}
	if s.Upstream != nil {
		errs = append(errs, s.Upstream.Stop())
	}
	return errors.Join(errs...)
}
