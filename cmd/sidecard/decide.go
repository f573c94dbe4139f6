package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sidecard/sidecard/internal/listen"
	"github.com/sidecard/sidecard/pkg/client"
)

// httpVariable is the variable of the setting http.
const httpVariable = "SIDECARD_HTTP"

func decideCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decide",
		Short: "Ask a running daemon for a decision; exit 0 when it allows, 1 when it refuses",
		Long: `Ask a running daemon, over its HTTP address, whether a request may pass, and print the
answer. The request is charged like any other, unless --peek is given. A rule that
queues has the command wait for its turn.

Exit codes: 0 allowed, 1 refused, 2 a wrong command line, 3 nobody decided.`,
		Example: `  sidecard decide --resource orders --attr path=/orders/7 --attr header.x-user-id=bob`,
		Args:    cobra.NoArgs,
	}
	fallback := defaultHTTP
	if addr, _ := p.lookup(httpVariable); addr != "" {
		fallback = addr
	}
	var o client.Options
	var r client.Request
	cmd.Flags().StringVar(&o.Addr, "addr", fallback, "HTTP `address` of the daemon; the default follows SIDECARD_HTTP")
	cmd.Flags().StringVar(&r.Domain, "domain", "", "whose rules decide (default \"sidecard\")")
	cmd.Flags().StringVar(&r.Resource, "resource", "", "the resource that the request enters")
	attrs := cmd.Flags().StringArray("attr", nil, "attribute, as `KEY=VALUE`, such as path=/orders/7 or header.x-user-id=bob; may be repeated")
	cmd.Flags().StringArrayVar(&r.Args, "arg", nil, "the next positional argument of the call; may be repeated")
	cmd.Flags().Int64Var(&r.Hits, "hits", 1, "how much the request takes")
	cmd.Flags().BoolVar(&r.Peek, "peek", false, "only look, take nothing")
	secure := addClientTLS(cmd, p)
	output := outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		if r.Attributes, err = attributesOf(*attrs); err != nil {
			return usageError{err}
		}
		if r.Hits < 1 {
			return usageError{fmt.Errorf("--hits: %d is below 1; to take nothing, write --peek", r.Hits)}
		}
		if err := output.check(); err != nil {
			return err
		}
		a, err := listen.Parse(o.Addr)
		if err != nil {
			return usageError{fmt.Errorf("--addr: %w", err)}
		}
		if o.TLS, err = secure.config(a); err != nil {
			return usageError{err}
		}
		c, err := client.New(o)
		if err != nil {
			return usageError{err}
		}
		defer c.Close()
		d, err := c.Decide(p.stop, r)
		switch {
		case errors.Is(err, client.ErrMalformed):
			return usageError{err}
		case err != nil:
			return noAnswer{err}
		}
		if output.json() {
			err = writeIndented(p.stdout, d)
		} else {
			err = writeDecision(p.stdout, d)
		}
		if err != nil {
			return err
		}
		if !d.Allowed {
			return errReported
		}
		return nil
	}
	return cmd
}

// cutAttribute reads one attribute given as KEY=VALUE.
func cutAttribute(word string) (key, value string, err error) {
	key, value, ok := strings.Cut(word, "=")
	if !ok {
		return "", "", fmt.Errorf("--attr: %q has no value, write KEY=VALUE", word)
	}
	return key, value, nil
}

// attributesOf reads KEY=VALUE pairs, whose keys the daemon judges, because it knows of a mapping. Of a key that is given twice the first counts, as everywhere.
func attributesOf(pairs []string) (map[string]string, error) {
	out := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		key, value, err := cutAttribute(pair)
		if err != nil {
			return nil, err
		}
		if _, twice := out[key]; !twice {
			out[key] = value
		}
	}
	return out, nil
}

func writeDecision(w io.Writer, d client.Decision) error {
	var b strings.Builder
	switch {
	case !d.Allowed:
		fmt.Fprintf(&b, "refused by %s: %s", d.Rule, d.Reason)
	case d.Rule == "":
		b.WriteString("allowed, no limit applies")
	default:
		fmt.Fprintf(&b, "allowed by %s", d.Rule)
	}
	if d.Counted {
		fmt.Fprintf(&b, ", %d of %d left", d.Remaining, d.Limit)
	}
	if d.RetryAfter > 0 {
		fmt.Fprintf(&b, ", retry after %v", d.RetryAfter)
	}
	if d.Wait > 0 {
		fmt.Fprintf(&b, ", after a wait of %v", d.Wait)
	}
	if d.ShadowRule != "" {
		fmt.Fprintf(&b, ", %s would refuse if it were not in shadow", d.ShadowRule)
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}
