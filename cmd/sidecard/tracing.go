package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"strconv"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/credentials"

	"github.com/sidecard/sidecard/internal/certs"
	"github.com/sidecard/sidecard/internal/metrics"
	"github.com/sidecard/sidecard/internal/tracing"
)

// tracingConfig says where spans go.
type tracingConfig struct {
	Endpoint string // host and port of a collector; empty: no spans are made
	Insecure bool   // without TLS
	CA       string // file of the authorities of its certificate; empty: those of the system
}

func tracingSettings() []setting {
	return []setting{
		{key: "tracing.endpoint", flag: "tracing-endpoint", value: "HOST:PORT", usage: "OpenTelemetry collector (OTLP over gRPC) that gets a span of each decision whose caller samples; without it none are made",
			set: func(c *config, v []string) error {
				c.Tracing.Endpoint = v[0]
				return checkEndpoint(v[0])
			}},
		{key: "tracing.insecure", flag: "tracing-insecure", usage: "speak to the collector without TLS",
			set: func(c *config, v []string) error { return setBool(&c.Tracing.Insecure, v[0]) }},
		{key: "tracing.ca", flag: "tracing-ca", value: "FILE", usage: "authorities (PEM), of which one must have signed the collector's certificate; without it those of the system",
			set: func(c *config, v []string) error { c.Tracing.CA = v[0]; return nil }},
	}
}

func checkEndpoint(text string) error {
	if text == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(text)
	if err == nil {
		if n, bad := strconv.ParseUint(port, 10, 16); bad != nil || n == 0 {
			err = errors.New("its port is none from 1 to 65535")
		} else if host == "" {
			err = errors.New("it has no host")
		}
	}
	if err != nil {
		return fmt.Errorf("%q is not an endpoint such as localhost:4317: %w", text, err)
	}
	return nil
}

// checkTracing says what is wrong with settings that are right each by itself.
func (c config) checkTracing() []error {
	switch t := c.Tracing; {
	case t.Endpoint == "" && (t.Insecure || t.CA != ""):
		key := "tracing.insecure"
		if t.CA != "" {
			key = "tracing.ca"
		}
		return []error{fmt.Errorf("%s: there is no tracing.endpoint that it is about", c.source(key))}
	case t.Insecure && t.CA != "":
		return []error{fmt.Errorf("%s: authorities have no effect with tracing.insecure; leave one of the two out", c.source("tracing.ca"))}
	}
	return nil
}

// newTracer returns what makes spans; nil if none are wanted.
func newTracer(cfg config, now func() int64, log zerolog.Logger) (*tracing.Tracer, error) {
	if cfg.Tracing.Endpoint == "" {
		return nil, nil
	}
	info, _ := debug.ReadBuildInfo()
	t := tracing.Config{Endpoint: cfg.Tracing.Endpoint, Now: now, Version: buildOf(version, info).Version, Log: log}
	if !cfg.Tracing.Insecure {
		secure, err := certs.Client{CA: cfg.Tracing.CA}.Config()
		if err != nil {
			return nil, fmt.Errorf("tracing.ca: %w", err)
		}
		t.TLS = credentials.NewTLS(secure)
	}
	return tracing.New(context.Background(), t)
}

// spans reads what became of spans.
func (d *daemon) spans() metrics.Spans {
	c := d.tracer.Counters()
	return metrics.Spans{Ended: c.Ended.Load(), Exported: c.Exported.Load(), Failed: c.Failed.Load()}
}

// stopTracer sends the spans that are left.
func (d *daemon) stopTracer(kill context.Context) {
	ctx, cancel := context.WithTimeout(kill, goodbye)
	defer cancel()
	if err := d.tracer.Close(ctx); err != nil {
		d.log.Warn().Err(err).Msg("not all spans could be sent")
	}
}
