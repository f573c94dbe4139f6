package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/internal/clock"
	"github.com/sidecard/sidecard/internal/gcpace"
	"github.com/sidecard/sidecard/internal/metrics"
	"github.com/sidecard/sidecard/internal/systemstat"
	"github.com/sidecard/sidecard/internal/tracing"
	"github.com/sidecard/sidecard/pkg/admin"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/localapi"
	"github.com/sidecard/sidecard/pkg/ratelimitsvc"
	"github.com/sidecard/sidecard/pkg/ruleswatch"
)

const (
	maintenance = time.Minute     // how often the engine clears what has expired
	measuring   = time.Second     // how often the system is measured
	expiry      = time.Second     // how often calls are ended whose lease is over, or whose caller has gone
	peerGrace   = 5 * time.Second // how long a process without connections may take to come back before its calls end
)

// serve runs the daemon until p.stop is done and what follows that has ended.
func serve(p process, cfg config) error {
	hangup, release := hangups()
	defer release()
	log := newLogger(cfg, p.stderr)
	sampler, err := cfg.SystemStat.sampler()
	if err != nil {
		return err
	}
	s, err := open(p.stop, cfg, log, p.lookup)
	if p.stop.Err() != nil { // told to stop while starting
		if s != nil {
			s.close()
		}
		return nil
	}
	if err != nil {
		return err
	}
	d, err := newDaemon(cfg, log, s)
	if err != nil {
		s.close()
		return err
	}
	d.sampler = sampler
	d.pacesGC, d.hangup, d.notify = pacesGC(p.lookup), hangup, newNotifier(p.lookup, log)
	return d.run(p.stop, p.kill)
}

// pacesGC says whether the pace of the garbage collector is ours to choose. A memory limit
// (GOMEMLIMIT) does not speak against that: the runtime keeps to it at any pace.
func pacesGC(lookup func(variable string) (string, bool)) bool {
	gogc, _ := lookup("GOGC")
	return gogc == ""
}

// newLogger returns a logger that writes whole lines to w, from whatever goroutine.
func newLogger(cfg config, w io.Writer) zerolog.Logger {
	w = lineWriter{w}
	if cfg.LogFormat == "console" {
		w = zerolog.ConsoleWriter{Out: w, NoColor: true, TimeFormat: time.RFC3339}
	}
	return zerolog.New(zerolog.SyncWriter(w)).Level(cfg.LogLevel).With().Timestamp().Logger()
}

// daemon is what serve wires together.
type daemon struct {
	cfg     config
	log     zerolog.Logger
	clock   clock.Clock
	engine  *engine.Engine
	counts  calls.Counters
	room    *calls.Room
	local   *localapi.Service
	tracer  *tracing.Tracer // nil: no spans are made
	rules   *ruleswatch.Watcher
	metrics *metrics.Metrics
	health  *health.Server
	ready   sync.Once
	status  *statusServer
	admin   *admin.Server
	started time.Time
	sockets *sockets
	sampler *systemstat.Sampler // set before run; nil: nothing is measured
	pacesGC bool                // set before run
	hangup  <-chan os.Signal    // set before run; nil: none are caught
	notify  notifier            // set before run; zero: nobody is told
	loaded  bool                // whether reading the rules was tried; of reloaded alone
}

func newDaemon(cfg config, log zerolog.Logger, s *sockets) (*daemon, error) {
	d := &daemon{
		cfg:     cfg,
		log:     log,
		clock:   clock.New(),
		started: time.Now(),
		engine:  engine.New(cfg.engineOptions()),
		health:  newHealth(),
		sockets: s,
	}
	var err error
	if d.tracer, err = newTracer(cfg, d.clock.Now, log); err != nil {
		return nil, err
	}
	d.room = calls.NewRoom(calls.Config{Engine: d.engine, Now: d.clock.Now, Counters: &d.counts, Max: cfg.Limits.Waiting})
	d.local = localapi.New(localapi.Config{Engine: d.engine, Now: d.clock.Now, Room: d.room, Counters: &d.counts, Mapping: cfg.Mapping, Tracer: d.tracer, TrackAll: cfg.Outcomes.Mode == outcomesAlways})
	d.metrics = metrics.New(d.sources())
	options := cfg.ruleOptions()
	options.System = cfg.SystemStat.inputs()
	loader := &ruleLoader{engine: d.engine, log: log, options: options, maxKeys: cfg.Limits.MaxKeys, now: d.clock.Now}
	sources := make([]ruleswatch.Source, len(cfg.Rules))
	for i, path := range cfg.Rules {
		sources[i] = ruleswatch.FileSource{Path: path, Log: log}
	}
	d.rules = ruleswatch.New(ruleswatch.Config{Sources: sources, Apply: d.timed(loader.apply), OnResult: d.reloaded, Log: log})
	d.status = &statusServer{metrics: d.metrics.Handler(), engine: d.engine, rules: d.rules, log: log}
	d.admin = d.newAdmin()
	return d, nil
}

// reloaded records the outcome of reading the rules. The first good one makes the daemon ready, and
// no later one changes that. It is called from one goroutine at a time.
func (d *daemon) reloaded(ok bool, revision string) {
	defer d.tellState(ok)
	if !ok {
		d.metrics.Refused()
		return
	}
	status := d.rules.Status()
	d.metrics.Applied(revision, status.GoodAt)
	d.ready.Do(func() {
		setHealth(d.health, healthpb.HealthCheckResponse_SERVING)
		info, _ := debug.ReadBuildInfo()
		at := d.sockets.at
		d.log.Info().Str("version", buildOf(version, info).Version).Strs("listen", at["listen"]).Strs("http", at["http"]).
			Strs("status", at["status"]).Strs("admin", at["admin"]).Int("rules", len(d.engine.Rules())).Str("revision", revision).Msg("ready, serving decisions")
	})
}

// tellState tells the service manager what became of the rules. It starts what waits for this daemon when
// the first attempt is over, whatever came of it: bad rules are no reason to hold up a machine that boots.
func (d *daemon) tellState(ok bool) {
	state := []string{describeState(ok, d.engine.Ready(), len(d.engine.Rules()))}
	if !d.loaded {
		d.loaded = true
		state = append(state, "READY=1")
	}
	d.notify.send(state...)
}

// run serves on the sockets, which it closes, until stop is done; then it drains and ends. When it
// returns, no goroutine that it started is left. The error is why it ended without being told to.
func (d *daemon) run(stop, kill context.Context) error {
	s := d.sockets
	server, service := newGRPCServer(ratelimitsvc.Config{
		Engine: d.engine, Now: d.clock.Now, Room: d.room, Log: d.log, Counters: &d.counts, Mapping: d.cfg.Mapping, Block: d.cfg.Block, Tracer: d.tracer,
		Errors: &d.cfg.Outcomes.Errors, TrackAll: d.cfg.Outcomes.Mode == outcomesAlways,
	}, d.local, d.health)
	local, status := newHTTPServer(d.tracer.Handler(d.local.Handler()), d.log), d.status.server()
	looking := newAdminServer(d.admin.Handler(), d.log)

	for _, w := range d.cfg.Warnings {
		d.log.Warn().Stringer("at", w.Pos).Str("field", w.Field).Str("fix", w.Fix).Str("warning", w.Message).Msg("configuration warning")
	}
	warnOwnUser(d.log, d.cfg)
	warnPlaintext(d.log, d.cfg)
	warnFiles(d.log, d.cfg.filesWanted(), openFiles())
	d.log.Info().Strs("listen", s.at["listen"]).Strs("http", s.at["http"]).Strs("status", s.at["status"]).Strs("admin", s.at["admin"]).Strs("rules", d.cfg.Rules).Msg("listening")
	work, endWork := context.WithCancel(context.Background())
	defer endWork()
	g := group{failed: make(chan error, 1)}
	g.start(func() error { return d.rules.Run(work) })
	g.start(func() error { d.maintain(work); return nil })
	g.start(func() error { d.endCalls(work, service); return nil })
	g.start(func() error { return s.follow(work) })
	g.start(func() error { logHangups(work, d.log, d.hangup); return nil })
	if len(s.admin) > 0 {
		g.start(func() error { d.admin.Run(work); return nil })
	}
	if d.sampler != nil {
		g.start(func() error { d.measure(work); return nil })
	}
	if d.pacesGC {
		g.start(func() error { gcpace.Run(work); return nil })
	}
	for _, l := range s.grpc {
		g.start(func() error { return server.Serve(l) })
	}
	for _, l := range s.http {
		g.start(func() error { return serveHTTP(local, l, "http") })
	}
	for _, l := range s.status {
		g.start(func() error { return serveHTTP(status, l, "status") })
	}
	for _, l := range s.admin {
		g.start(func() error { return serveHTTP(looking, l, "admin") })
	}

	var failure error
	select {
	case <-stop.Done():
	case failure = <-g.failed:
		d.log.Error().Err(failure).Msg("cannot go on")
	}
	d.notify.send("STOPPING=1", "STATUS=Stopping")
	d.status.draining.Store(true)
	if failure == nil {
		local.SetKeepAlivesEnabled(false) // a connection that is not used would never leave
		d.log.Info().Int("connections", s.clients.Open()+s.locals.Open()).Stringer("atMost", d.cfg.Drain).Msg("stopping, serving open connections until they leave")
		d.room.Drain(d.cfg.Drain)
		drain(kill, d.cfg.Drain, &s.clients, &s.locals)
	} else {
		d.room.Drain(0)
	}
	// Health turns only now. Envoy has nobody else to ask: it takes a daemon that says that it is not
	// serving for one that does not answer, and lets requests pass unlimited although they would be.
	d.health.Shutdown()
	stopServer(kill, server, goodbye)
	stopHTTP(kill, local)
	stopHTTP(kill, status)
	stopHTTP(kill, looking)
	s.close()
	d.stopTracer(kill)
	endWork()
	g.wait()
	d.log.Info().Msg("stopped")
	return failure
}

// maintain lets the engine give back memory, and reports refused connections and full key tables,
// until ctx is done.
func (d *daemon) maintain(ctx context.Context) {
	tick := time.NewTicker(maintenance)
	defer tick.Stop()
	var reported int64
	full := overflows{}
	for {
		select {
		case <-tick.C:
			d.engine.Maintain(d.clock.Now())
			reported = d.reportRefused(reported)
			full.report(d.log, d.engine.Rules())
		case <-ctx.Done():
			return
		}
	}
}

// endCalls ends the calls that nobody will report the end of, and logs how circuit breakers changed, until
// ctx is done.
func (d *daemon) endCalls(ctx context.Context, service *ratelimitsvc.Service) {
	tick := time.NewTicker(expiry)
	defer tick.Stop()
	var changes []engine.Transition
	for {
		select {
		case <-tick.C:
			now := d.clock.Now()
			service.Expire(now)
			changes = d.engine.Transitions(now, changes[:0])
			logTransitions(d.log, changes)
			for _, peer := range d.sockets.peers.Gone() {
				if n := d.engine.EndPeer(now, peer); n > 0 {
					d.log.Warn().Int("calls", n).Msg("a process that asked has gone, its calls under way have ended")
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// reportRefused logs connections that were refused since so many were, and returns how many there are.
func (d *daemon) reportRefused(since int64) int64 {
	refused := d.sockets.clients.Refused() + d.sockets.locals.Refused() + d.sockets.readers.Refused() + d.sockets.lookers.Refused()
	if refused > since {
		d.log.Warn().Int64("refused", refused-since).Int("connections", d.cfg.Limits.Connections).
			Msg("connections were refused because limits.connections were open, calls of an Envoy among them passed unlimited")
	}
	return refused
}

// group runs goroutines that live as long as the daemon.
type group struct {
	running sync.WaitGroup
	failed  chan error // holds the first failure; the daemon ends for it, so that later ones follow from it
}

func (g *group) start(f func() error) {
	g.running.Go(func() {
		if err := f(); err != nil {
			select {
			case g.failed <- err:
			default:
			}
		}
	})
}

func (g *group) wait() { g.running.Wait() }
