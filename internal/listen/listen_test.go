package listen

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

func TestListenOff(t *testing.T) {
	t.Parallel()
	ln, err := Listen(t.Context(), Addr{}, Options{})
	if ln != nil || err != nil {
		t.Errorf("got %v, %v, want nil, nil", ln, err)
	}
	if _, err := Dial(t.Context(), Addr{}); err == nil {
		t.Error("off was dialled")
	}
}

func TestListenTCP(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		addr string
		o    Options
		ok   bool
	}{
		{"tcp:127.0.0.1:0", Options{}, true},
		{"tcp:127.8.8.8:0", Options{}, true},
		{"tcp:localhost:0", Options{}, true},
		{"tcp:0.0.0.0:0", Options{}, false},
		{"tcp:[::]:0", Options{}, false},
		{"tcp::0", Options{}, false},
		{"tcp:192.0.2.1:0", Options{}, false},
		{"tcp:0.0.0.0:0", Options{AllowNonLoopback: true}, true},
		{"tcp::0", Options{AllowNonLoopback: true}, true},
	} {
		ln, err := Listen(t.Context(), mustParse(t, tt.addr), tt.o)
		if (err == nil) != tt.ok {
			t.Errorf("%s %+v: %v, want ok %v", tt.addr, tt.o, err, tt.ok)
		}
		if err != nil {
			if !errors.Is(err, ErrNotLoopback) || !strings.Contains(err.Error(), "write tcp:127.0.0.1:0 or a unix: address") {
				t.Errorf("%s: %v: not the error that says what to do", tt.addr, err)
			}
			continue
		}
		bound := mustParse(t, "tcp:"+ln.Addr().String())
		if !tt.o.AllowNonLoopback {
			echoOnce(t, ln, bound)
		}
		ln.Close()
	}
}

func TestListenTCPInUse(t *testing.T) {
	t.Parallel()
	first := mustListen(t, mustParse(t, "tcp:127.0.0.1:0"), Options{})
	_, err := Listen(t.Context(), mustParse(t, "tcp:"+first.Addr().String()), Options{})
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
}

func TestDialErrors(t *testing.T) {
	t.Parallel()
	_, err := Dial(t.Context(), sockAddr(t))
	if err == nil || !strings.Contains(err.Error(), "is sidecard running") {
		t.Errorf("no file: %v", err)
	}
	ln := mustListen(t, mustParse(t, "tcp:127.0.0.1:0"), Options{})
	gone := mustParse(t, "tcp:"+ln.Addr().String())
	ln.Close()
	if _, err := Dial(t.Context(), gone); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("closed port: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dial(ctx, gone); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A gRPC client reaches a server at every kind of address through its Target.
func TestTargetServes(t *testing.T) {
	t.Parallel()
	odd := mustParse(t, "unix:"+shortDir(t)+"/a b%?#.sock")
	for _, a := range []Addr{sockAddr(t), odd, abstractAddr(t), mustParse(t, "tcp:127.0.0.1:0")} {
		ln := mustListen(t, a, Options{})
		if a.Network() == NetworkTCP {
			a = mustParse(t, "tcp:"+ln.Addr().String())
		}
		s := grpc.NewServer()
		healthpb.RegisterHealthServer(s, health.NewServer())
		served := make(chan error, 1)
		go func() { served <- s.Serve(new(Counter).Listener(ln)) }()
		target, err := a.Target()
		if err != nil {
			t.Fatal(err)
		}
		client, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		r, err := healthpb.NewHealthClient(client).Check(within(t), &healthpb.HealthCheckRequest{})
		if err != nil || r.Status != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%s (target %s): %v, %v", a, target, r, err)
		}
		client.Close()
		s.Stop()
		if err := <-served; err != nil {
			t.Errorf("%s: %v", a, err)
		}
		if a.Path() != "" {
			if _, err := net.Dial("unix", a.Path()); !errors.Is(err, syscall.ENOENT) {
				t.Errorf("%s after the server stopped: %v, want no file", a, err)
			}
		}
	}
}
