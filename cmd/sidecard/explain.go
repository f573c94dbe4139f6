package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/sidecard/sidecard/internal/explain"
	"github.com/sidecard/sidecard/pkg/admin"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/engine/attr"
	"github.com/sidecard/sidecard/pkg/ratelimitsvc"
	"github.com/sidecard/sidecard/pkg/rule"
)

func explainCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain (--rules PATH | --addr ADMIN)",
		Short: "Tell what rules make of a request, and why",
		Long: `Tell what is understood of a request's attributes, which API groups it enters and which nearly, what
each rule makes of it, and what the client gets through Envoy. With --rules the rules are read as by the
daemon, and nothing has been counted before. Otherwise a running daemon is asked on
its admin address, and answers by what it has counted so far.`,
		Args: cobra.NoArgs,
	}
	codes, _ := lookupSetting("paramCodes")
	addFlag(cmd, codes, defaults().ParamCodes.String())
	flags := cmd.Flags()
	rules := flags.StringArray("rules", nil, "rule file or directory, at `PATH`; may be repeated")
	domain := flags.String("domain", "sidecard", "domain of the request")
	resource := flags.String("resource", "", "resource, which is the route's `ID`")
	attrs := flags.StringArray("attr", nil, "attribute, as `KEY=VALUE`, such as path=/orders/7 or header.x-user-id=bob; may be repeated")
	hits := flags.Int64("hits", 1, "how much the request takes")
	ask := addAdmin(cmd, p, "addr")
	running := flags.Lookup("addr")
	running.Usage, running.DefValue = "admin `address` of a running daemon, in place of --rules", ""
	output := outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c := defaults()
		if err := overlay(p, cmd.Flags(), codes, &c); err != nil {
			return usageError{err}
		}
		if err := output.check(); err != nil {
			return err
		}
		switch {
		case running.Changed && len(*rules) > 0:
			return usageError{fmt.Errorf("--rules, --addr: explain by rules of files, or by those of a running daemon")}
		case !running.Changed && len(*rules) == 0:
			return usageError{fmt.Errorf("--rules: name the rules to explain by, or a running daemon with --addr")}
		}
		if *hits < 1 {
			return usageError{fmt.Errorf("--hits: %d is below 1", *hits)}
		}
		attributes, err := parseAttributes(*resource, *attrs)
		if err != nil {
			return usageError{err}
		}
		if len(*rules) == 0 {
			return explainRunning(p, ask, output, admin.Question{Domain: *domain, Attributes: attributes, Hits: *hits})
		}
		e, report := engineOf(*rules, c.ruleOptions())
		if report.errors() > 0 {
			if err := report.writeText(p.stderr, false); err != nil {
				return err
			}
			return errReported
		}
		view := explain.Of(e, time.Now().UnixNano(), explain.Question{Domain: *domain, Attributes: attributes, Hits: *hits},
			explain.Options{Envoy: envoyPreview(nil), Charge: true})
		if output.json() {
			return writeIndented(p.stdout, view)
		}
		return view.WriteText(p.stdout)
	}
	return cmd
}

// explainRunning lets a running daemon explain a request.
func explainRunning(p process, ask adminFlags, output *outputForm, q admin.Question) error {
	c, err := ask.client("addr")
	if err != nil {
		return err
	}
	defer c.close()
	body, err := c.do(p.stop, http.MethodPost, "/api/v1/explain", q)
	if err != nil {
		return err
	}
	var view explain.View
	if err := json.Unmarshal(body, &view); err != nil {
		return fmt.Errorf("the answer is not understood: %w", err)
	}
	if output.json() {
		return writeIndented(p.stdout, view)
	}
	return view.WriteText(p.stdout)
}

// engineOf returns an engine of its own for the rules at the paths, or what is wrong with them.
func engineOf(paths []string, o rule.Options) (*engine.Engine, checkReport) {
	report := checkPaths(paths, o)
	e := engine.New(engine.Options{})
	if report.errors() > 0 {
		return nil, report
	}
	if _, err := e.Apply(time.Now().UnixNano(), report.set); err != nil {
		report.problems = append(report.problems, rule.Problem{Message: err.Error()})
	}
	return e, report
}

// envoyPreview foretells what a client gets where block is the answer of the configuration; nil: there is none.
func envoyPreview(block *rule.BlockResponse) func(*engine.Verdict) explain.Envoy {
	return func(v *engine.Verdict) explain.Envoy {
		p := ratelimitsvc.NewPreview(v, block)
		out := explain.Envoy{Status: p.Status, Body: p.Body, Headers: []explain.Header{}}
		for _, h := range p.Headers {
			out.Headers = append(out.Headers, explain.Header{Name: h.Name, Value: h.Value})
		}
		return out
	}
}

// parseAttributes reads attributes given as KEY=VALUE, before which the resource comes, if there is one.
func parseAttributes(resource string, given []string) ([]explain.Attribute, error) {
	var out []explain.Attribute
	if resource != "" {
		out = append(out, explain.Attribute{Key: "resource", Value: resource})
	}
	for _, word := range given {
		key, value, err := cutAttribute(word)
		if err != nil {
			return nil, err
		}
		if err := attr.Known(key); err != nil {
			return nil, fmt.Errorf("--attr: %w%s", err, didYouMean(key, "", attr.Like(key)))
		}
		out = append(out, explain.Attribute{Key: key, Value: value})
	}
	return out, nil
}
