package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/sidecard/sidecard/internal/listen"
)

// healthTimeout bounds a health check; a kubelet gives a probe one second unless told otherwise.
const healthTimeout = 900 * time.Millisecond

// listenVariable is the variable of the setting listen.
const listenVariable = "SIDECARD_LISTEN"

func healthcheckCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a running daemon for its health; exit 0 when it is serving, else 1",
		Long: `Ask a running daemon over its gRPC address for its health and print the answer. It is
serving from the first good rule set until it ends. For exec probes: the
image holds no shell and a kubelet cannot probe a Unix socket. A probe that
restarts the container takes --live: without rules nothing is gained by that.`,
		Args: cobra.NoArgs,
	}
	fallback, variable := healthAddress(p)
	addr := cmd.Flags().String("addr", fallback, "gRPC `address` of the daemon; the default follows SIDECARD_LISTEN")
	secure := addClientTLS(cmd, p)
	live := cmd.Flags().Bool("live", false, "exit 0 for any answer, also that it is not serving")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		a, err := listen.Parse(*addr)
		if err == nil && a.Off() {
			err = fmt.Errorf("off is no address to ask")
		}
		if err != nil {
			blamed := "--addr"
			if variable && !cmd.Flags().Changed("addr") {
				blamed = listenVariable
			}
			return usageError{fmt.Errorf("%s: %w", blamed, err)}
		}
		creds, err := secure.credentials(a)
		if err != nil {
			return usageError{err}
		}
		ctx, cancel := context.WithTimeout(p.stop, healthTimeout)
		defer cancel()
		status, err := askHealth(ctx, a, creds)
		if err != nil {
			fmt.Fprintf(p.stdout, "%s: no answer: %v\n", a, err)
			return errReported
		}
		fmt.Fprintf(p.stdout, "%s: %s\n", a, status)
		if status != healthpb.HealthCheckResponse_SERVING && !*live {
			return errReported
		}
		return nil
	}
	return cmd
}

// healthAddress returns the first address that the daemon of this environment serves, and whether the
// variable names it.
func healthAddress(p process) (addr string, variable bool) {
	text, _ := p.lookup(listenVariable)
	for _, addr := range strings.Split(text, ",") {
		if addr != "" && addr != "off" {
			return addr, true
		}
	}
	return defaultListen, false
}

func askHealth(ctx context.Context, a listen.Addr, creds credentials.TransportCredentials) (healthpb.HealthCheckResponse_ServingStatus, error) {
	// One connection, dialled first: its errors say what is wrong with a socket, and there is no
	// second attempt that could outlast the probe.
	if conn, err := listen.Dial(ctx, a); err != nil {
		return 0, err
	} else {
		conn.Close()
	}
	target, err := a.Target()
	if err != nil {
		return 0, err
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(creds))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		return 0, err
	}
	return answer.GetStatus(), nil
}
