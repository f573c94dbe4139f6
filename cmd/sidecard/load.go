package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configVariable names the config file when --config does not.
const configVariable = "SIDECARD_CONFIG"

// words is the value of a flag as it was written, once or several times. What the words mean is
// decided by the setting behind the flag, so that a variable is judged by the same code.
type words struct {
	kind string
	list bool
	got  []string
}

// String returns the words as the help shows them.
func (w *words) String() string { return strings.Join(w.got, ",") }

// Type returns what the help calls the value.
func (w *words) Type() string { return w.kind }

// Set takes one more word; without list the last one counts.
func (w *words) Set(word string) error {
	if !w.list {
		w.got = nil
	}
	w.got = append(w.got, word)
	return nil
}

// addFlag defines the flag of a setting on cmd. fallback is what the help calls the default.
func addFlag(cmd *cobra.Command, s setting, fallback string) {
	kind := s.value
	if kind == "" {
		kind = "bool" // pflag shows no value for it
	}
	f := cmd.Flags().VarPF(&words{kind: kind, list: s.list}, s.flag, "", s.usage)
	f.DefValue = fallback
	if s.value == "" {
		f.NoOptDefVal = "true"
	}
}

// loadConfig returns the effective configuration: a flag wins over a variable, that over the
// config file, that over the default. All errors of all four are reported together.
func loadConfig(p process, flags *pflag.FlagSet, file string) (config, error) {
	c, table := defaults(), settings()
	var errs []error
	if file == "" {
		file, _ = p.lookup(configVariable)
	}
	if file != "" {
		errs = loadConfigFile(file, table, &c)
	}
	for _, s := range table {
		if err := overlay(p, flags, s, &c); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		errs = append(c.checkAccess(), c.checkTracing()...)
	}
	if len(errs) > 0 {
		return config{}, usageError{errors.Join(errs...)}
	}
	return c, nil
}

// overlay applies the variable of s and then its flag. A variable that is set to nothing counts as
// not set: manifests write that for "no value".
func overlay(p process, flags *pflag.FlagSet, s setting, c *config) error {
	var errs []error
	if text, _ := p.lookup(s.variable()); text != "" {
		values := []string{text}
		if s.list {
			values = strings.Split(text, ",")
		}
		if err := s.set(c, values); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.variable(), err))
		}
		c.note(s.key, s.variable())
	}
	if f := flags.Lookup(s.flag); s.flag != "" && f != nil && f.Changed {
		if err := s.set(c, f.Value.(*words).got); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", s.flag, err))
		}
		c.note(s.key, "--"+s.flag)
	}
	return errors.Join(errs...)
}
