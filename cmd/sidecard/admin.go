package main

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/internal/listen"
	"github.com/sidecard/sidecard/pkg/admin"
)

// adminConfig says who may look into the daemon, and where.
type adminConfig struct {
	Addr  string   // a valid address
	Hosts []string // names that requests may be for, in lower case, beside localhost and addresses
	Pprof bool
}

const (
	defaultAdmin = "tcp:127.0.0.1:9091"
	// adminConnections is how many connections may be open to the admin address: people look, and few of them.
	adminConnections = 64
)

func adminSettings() []setting {
	return []setting{
		{key: "admin", flag: "admin", value: "ADDR", usage: "address to look into the daemon: status, rules and what they do, or off",
			set: func(c *config, v []string) error {
				c.Admin.Addr = v[0]
				_, err := listen.Parse(v[0])
				return err
			}},
		{key: "adminHosts", flag: "admin-host", value: "NAME", list: true, usage: "name of this host under which the admin address may be asked, beside localhost and addresses; may be repeated",
			set: func(c *config, v []string) error { return setHosts(&c.Admin.Hosts, v) }},
		{key: "pprof", flag: "pprof", usage: "serve profiles of the Go runtime on the admin address",
			set: func(c *config, v []string) error { return setBool(&c.Admin.Pprof, v[0]) }},
	}
}

func setHosts(into *[]string, names []string) error {
	hosts := make([]string, len(names))
	for i, name := range names {
		if name == "" || strings.ContainsAny(name, "*/:[] ") {
			return itemError{i, fmt.Errorf("%q is not the name of a host, without port", name)}
		}
		hosts[i] = strings.ToLower(strings.TrimSuffix(name, "."))
	}
	*into = hosts
	return nil
}

// newAdminServer makes the server of the admin address, which no slow or silent client can hold resources of for long.
func newAdminServer(h http.Handler, log zerolog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      time.Minute, // a profile takes half of it
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          newServerLog(log, "admin server"),
	}
}

// newAdmin makes what the admin address serves.
func (d *daemon) newAdmin() *admin.Server {
	return admin.New(admin.Config{
		Engine: d.engine, Now: d.clock.Now, Daemon: d.describe, Envoy: envoyPreview(d.cfg.Block),
		Hosts: d.cfg.Admin.Hosts, Pprof: d.cfg.Admin.Pprof,
	})
}

// describe says how the daemon stands.
func (d *daemon) describe() admin.Daemon {
	info, _ := debug.ReadBuildInfo()
	build, rules := buildOf(version, info), d.rules.Status()
	v := admin.Daemon{
		Build: admin.Build(build), Started: d.started, Stopping: d.status.draining.Load(), Listeners: d.sockets.at,
		Waiting: d.counts.Waiting.Load(), MaxWaiting: int64(d.room.Max()),
		Loading: admin.Loading{
			AppliedAt: rules.AppliedAt, Files: rules.Files, Err: rules.Err, FailedAt: rules.FailedAt,
			Applied: rules.Applied, Failures: rules.Failures,
		},
	}
	for _, c := range d.sockets.connections() {
		v.Connections = append(v.Connections, admin.Connections(c))
	}
	for _, s := range rules.Sources {
		v.Loading.Sources = append(v.Loading.Sources, admin.Source{Name: s.Name, Files: s.Files, ChangedAt: s.ChangedAt})
	}
	return v
}
