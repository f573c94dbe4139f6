// Package systemstat measures what calls do not tell: the load average, and how much of its processors a cgroup uses.
// It decides nothing.
package systemstat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Config says what is measured. The zero value measures nothing.
type Config struct {
	Cgroup string // the folder of a cgroup, of version 2, or of controller cpu and cpuacct of version 1; empty: none
	Load   bool   // the load average of a minute, which is that of the machine even in a container
	// LoadFile is read for it; empty: /proc/loadavg.
	LoadFile string
}

// Unknown is the value of a figure that was not measured.
const Unknown = -1

// Sample is how the system stands.
type Sample struct {
	Load float64 // load average of a minute; Unknown
	CPU  float64 // share of the processors that the cgroup may use which it has used since the sample before; Unknown
}

// Sampler measures. Make it with New. It is for one goroutine at a time.
type Sampler struct {
	loadFile string
	cgroup   *cgroup

	used time.Duration // of the processors, when it was measured last
	at   int64
}

// New returns a sampler. The error says what cannot be read; no sampler would measure it.
func New(cfg Config) (*Sampler, error) {
	s := &Sampler{used: Unknown}
	if cfg.Load {
		if s.loadFile = cfg.LoadFile; s.loadFile == "" {
			s.loadFile = "/proc/loadavg"
		}
		if _, err := readLoad(s.loadFile); err != nil {
			return nil, err
		}
	}
	if cfg.Cgroup != "" {
		var err error
		if s.cgroup, err = openCgroup(cfg.Cgroup); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Sample measures at now, in nanoseconds. What cannot be read is Unknown, and the error says why; the first sample does not
// know the use of the processors yet, which is no error.
func (s *Sampler) Sample(now int64) (Sample, error) {
	out := Sample{Load: Unknown, CPU: Unknown}
	var errs []error
	if s.loadFile != "" {
		if load, err := readLoad(s.loadFile); err != nil {
			errs = append(errs, err)
		} else {
			out.Load = load
		}
	}
	if s.cgroup != nil {
		if cpu, err := s.cpu(now); err != nil {
			errs = append(errs, err)
		} else {
			out.CPU = cpu
		}
	}
	return out, errors.Join(errs...)
}

// cpu returns the share that was used since it was asked last.
func (s *Sampler) cpu(now int64) (float64, error) {
	used, err := s.cgroup.used()
	if err != nil {
		s.used = Unknown
		return Unknown, err
	}
	processors, err := s.cgroup.processors()
	if err != nil {
		return Unknown, err
	}
	before, passed := s.used, time.Duration(now-s.at)
	s.used, s.at = used, now
	if before == Unknown || passed <= 0 || used < before { // a cgroup that is made anew begins at 0
		return Unknown, nil
	}
	return float64(used-before) / (float64(passed) * processors), nil
}

// Run measures at once, and then each interval, until ctx is done. It tells each sample to set, and to failed when
// measuring begins to fail, with why, and when it works again, with nil. Both are called from the calling goroutine.
func Run(ctx context.Context, s *Sampler, interval time.Duration, now func() int64, set func(Sample), failed func(error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	failing := false
	for {
		sample, err := s.Sample(now())
		set(sample)
		if (err != nil) != failing {
			failing = err != nil
			failed(err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func readLoad(file string) (float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("load average: %w", err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil || !(load >= 0) {
		return 0, fmt.Errorf("load average: %s begins with %.40q, which is no load", file, first)
	}
	return load, nil
}
