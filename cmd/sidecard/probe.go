package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/sidecard/sidecard/internal/explain"
	"github.com/sidecard/sidecard/internal/listen"
	"github.com/sidecard/sidecard/internal/probe"
	"github.com/sidecard/sidecard/pkg/admin"
)

const (
	maxProbeRate = 20_000          // calls a second; more than this command can be sure to send
	maxProbe     = 5 * time.Minute // of --for, so that all calls can be remembered
)

func probeCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "probe --resource R",
		Short: "Ask a running daemon for more than its rules allow, and say whether their bounds held",
		Long: `Ask a running daemon, as Envoy would, for a multiple of what the rules for a request allow, and compare
what passes with the bound that each rule publishes. The rules and their bounds are asked of the admin
address.

THIS TAKES REAL BUDGET: while it runs, and until its charges have left their windows, requests of others
that share a budget with the probe are refused earlier. Calls that a rule counts until they end stay
under way until about 5 s after the probe, at most for the rule's lease. Give it a parameter value of its
own (--attr header.x-user-id=probe) where rules limit by value.

Requests of others can only make fewer of the probe's pass, so they falsify nothing.

Exit codes: 0 the bounds held, 1 one did not or there is none, 2 a wrong command line, 3 nobody answered.`,
		Example: `  sidecard probe --resource orders --attr path=/orders/7 --attr header.x-user-id=probe --rate x3 --for 10s`,
		Args:    cobra.NoArgs,
	}
	fallback, _ := healthAddress(p)
	flags := cmd.Flags()
	addr := flags.String("addr", fallback, "gRPC `address` of the daemon; the default follows SIDECARD_LISTEN")
	ask := addAdmin(cmd, p, "admin")
	domain := flags.String("domain", admin.DefaultDomain, "domain of the request")
	resource := flags.String("resource", "", "resource, which is the route's `ID`")
	attrs := flags.StringArray("attr", nil, "attribute, as `KEY=VALUE`, such as path=/orders/7; may be repeated")
	hits := flags.Int64("hits", 1, "how much each call takes")
	rate := flags.String("rate", "x2", "how fast to ask: `xN` times the least limit, or N calls a second")
	length := flags.Duration("for", 5*time.Second, "how long to ask")
	output := outputFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := output.check(); err != nil {
			return err
		}
		if *hits < 1 || *hits > 1<<31-1 {
			return usageError{fmt.Errorf("--hits: %d is not from 1 to %d", *hits, 1<<31-1)}
		}
		if *length <= 0 || *length > maxProbe {
			return usageError{fmt.Errorf("--for: %v is not above 0 and at most %v", *length, maxProbe)}
		}
		attributes, err := parseAttributes(*resource, *attrs)
		if err != nil {
			return usageError{err}
		}
		speed, err := parseRate(*rate)
		if err != nil {
			return usageError{fmt.Errorf("--rate: %w", err)}
		}
		c, err := ask.client("admin")
		if err != nil {
			return err
		}
		defer c.close()
		conn, err := dialProbe(*addr, ask.secure)
		if err != nil {
			return usageError{err}
		}
		defer conn.Close()
		q := admin.Question{Domain: *domain, Attributes: attributes, Hits: *hits}
		found, err := c.boundsOf(p.stop, q)
		if err != nil {
			return err
		}
		run := probe.Config{Rules: found.rules, Length: *length, Hits: *hits}
		run.Send = probe.Sender(conn, explain.Question{Domain: *domain, Attributes: attributes, Hits: *hits})
		if run.Rate, err = speed.of(found.rules, *hits); err != nil {
			return err
		}
		w := io.Discard
		if !output.json() {
			w = p.stdout
		}
		result, err := probe.Run(p.stop, w, run)
		if err != nil {
			return err
		}
		if again, err := c.boundsOf(p.stop, q); err != nil || again.revision != found.revision {
			return errors.Join(errors.New("the rules have changed meanwhile, so nothing can be said of their bounds"), err)
		}
		if output.json() {
			if err := writeIndented(p.stdout, result); err != nil {
				return err
			}
		}
		if err := result.Unanswered(); err != nil {
			return noAnswer{err}
		}
		if !result.Held {
			return errReported
		}
		return nil
	}
	return cmd
}

// probeRate is how fast to ask: a multiple of the least limit, or so many calls a second.
type probeRate struct{ times, perSecond float64 }

func parseRate(text string) (probeRate, error) {
	number, times := strings.CutPrefix(text, "x")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0 && n <= 1e9) {
		return probeRate{}, fmt.Errorf("%q is neither a multiple of the limit, such as x2, nor calls a second, such as 500", text)
	}
	if times {
		return probeRate{times: n}, nil
	}
	return probeRate{perSecond: n}, nil
}

// of returns the calls a second, at least one.
func (r probeRate) of(rules []probe.Rule, hits int64) (float64, error) {
	rate := r.perSecond
	if r.times > 0 {
		least := rules[0].PerSecond()
		for i := range rules {
			least = min(least, rules[i].PerSecond())
		}
		rate = r.times * least / float64(hits)
	}
	if rate > maxProbeRate {
		return 0, fmt.Errorf("%.0f calls a second are more than the %d that this command can send; say how many with --rate N", rate, maxProbeRate)
	}
	return max(rate, 1), nil
}

// bounds are the rules that a request comes under, as far as they have a bound.
type bounds struct {
	revision string
	rules    []probe.Rule
}

// boundsOf asks which enforced rules limit a request, and what they let pass at most.
func (c *adminClient) boundsOf(ctx context.Context, q admin.Question) (bounds, error) {
	body, err := c.do(ctx, http.MethodPost, "/api/v1/explain", q)
	if err != nil {
		return bounds{}, fmt.Errorf("the admin address: %w", err)
	}
	var view explain.View
	if err := json.Unmarshal(body, &view); err != nil {
		return bounds{}, fmt.Errorf("the answer is not understood: %w", err)
	}
	var all struct {
		Revision string
		Rules    []struct {
			ID, Domain string
			Definition json.RawMessage
		}
	}
	if err := c.get(ctx, "/api/v1/rules", &all); err != nil {
		return bounds{}, fmt.Errorf("the admin address: %w", err)
	}
	found := bounds{revision: all.Revision}
	for i := range view.Rules {
		for _, of := range all.Rules {
			if r := &view.Rules[i]; r.ID == of.ID && r.Domain == of.Domain {
				if p, ok := probe.RuleOf(r, of.Definition); ok {
					found.rules = append(found.rules, p)
				}
			}
		}
	}
	if len(found.rules) == 0 {
		return bounds{}, errors.New("no enforced rule with a bound limits this request; sidecard explain says which rules there are")
	}
	return found, nil
}

func dialProbe(addr string, secure *clientTLS) (*grpc.ClientConn, error) {
	a, err := listen.Parse(addr)
	if err == nil && a.Off() {
		err = errors.New("off is no address to ask")
	}
	if err != nil {
		return nil, fmt.Errorf("--addr: %w", err)
	}
	creds, err := secure.credentials(a)
	if err != nil {
		return nil, err
	}
	target, err := a.Target()
	if err != nil {
		return nil, err
	}
	return grpc.NewClient(target, grpc.WithTransportCredentials(creds))
}
