package main

import (
	"context"
	"fmt"

	"github.com/sidecard/sidecard/internal/systemstat"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// systemStatConfig says what is measured of the system, for system rules.
type systemStatConfig struct {
	Cgroup string // empty: none
	Load   bool
}

func systemStatSettings() []setting {
	return []setting{
		{key: "systemStat.cgroup", usage: "folder of the cgroup whose use of its processors system rules look at",
			set: func(c *config, v []string) error { c.SystemStat.Cgroup = v[0]; return nil }},
		{key: "systemStat.load", usage: "measure the load average, which is that of the machine, for system rules",
			set: func(c *config, v []string) error { return setBool(&c.SystemStat.Load, v[0]) }},
	}
}

// inputs says which figures system rules may look at.
func (s systemStatConfig) inputs() rule.SystemInputs {
	return rule.SystemInputs{Known: true, Load: s.Load, CPU: s.Cgroup != ""}
}

// sampler returns what measures the system; nil if nothing is to be measured.
func (s systemStatConfig) sampler() (*systemstat.Sampler, error) {
	if s == (systemStatConfig{}) {
		return nil, nil
	}
	sampler, err := systemstat.New(systemstat.Config{Cgroup: s.Cgroup, Load: s.Load})
	if err != nil {
		return nil, fmt.Errorf("systemStat: %w", err)
	}
	return sampler, nil
}

// measure tells the engine each second how the system stands, until ctx is done.
func (d *daemon) measure(ctx context.Context) {
	systemstat.Run(ctx, d.sampler, measuring, d.clock.Now,
		func(s systemstat.Sample) { d.engine.SetSystem(engine.SystemSample{Load: s.Load, CPU: s.CPU}) },
		func(err error) {
			if err != nil {
				d.log.Error().Err(err).Msg("the system cannot be measured, system rules that look at load or processors refuse nothing")
				return
			}
			d.log.Info().Msg("the system can be measured again")
		})
}
