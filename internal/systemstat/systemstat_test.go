package systemstat

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// write makes files below a folder, and returns it.
func write(t testing.TB, folder string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const second = int64(time.Second)

func TestCPU(t *testing.T) {
	t.Parallel()
	all := float64(runtime.NumCPU())
	stat := func(us string) string { return "usage_usec " + us + "\nuser_usec 1\nsystem_usec 2\nnr_throttled 0\n" }
	for _, tt := range []struct {
		name          string
		before, after map[string]string
		want          float64
	}{
		{"version 2", map[string]string{"cpu.stat": stat("1000000"), "cpu.max": "50000 100000\n"}, map[string]string{"cpu.stat": stat("1250000")}, 0.5},
		{"version 2, more than it may", map[string]string{"cpu.stat": stat("0"), "cpu.max": "50000 100000\n"}, map[string]string{"cpu.stat": stat("600000")}, 1.2},
		{"version 2, without a limit", map[string]string{"cpu.stat": stat("0"), "cpu.max": "max 100000\n"}, map[string]string{"cpu.stat": stat("500000")}, 0.5 / all},
		{"version 2, the root", map[string]string{"cpu.stat": stat("0")}, map[string]string{"cpu.stat": stat("500000")}, 0.5 / all},
		{"version 2, a limit around it", map[string]string{"cpu.stat": stat("0"), "cpu.max": "max 100000\n", "../cpu.max": "25000 100000\n"}, map[string]string{"cpu.stat": stat("125000")}, 0.5},
		{"version 2, a limit that changes", map[string]string{"cpu.stat": stat("0"), "cpu.max": "50000 100000\n"}, map[string]string{"cpu.stat": stat("250000"), "cpu.max": "25000 100000\n"}, 1},
		{"version 1", map[string]string{"cpuacct.usage": "1000000000\n", "cpu.stat": "nr_periods 0\n", "cpu.cfs_quota_us": "50000\n", "cpu.cfs_period_us": "100000\n"},
			map[string]string{"cpuacct.usage": "1250000000\n"}, 0.5},
		{"version 1, without a limit", map[string]string{"cpuacct.usage": "0\n", "cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"},
			map[string]string{"cpuacct.usage": "500000000\n"}, 0.5 / all},
		{"made anew", map[string]string{"cpu.stat": stat("1000000"), "cpu.max": "max 100000\n"}, map[string]string{"cpu.stat": stat("5")}, Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			folder := write(t, filepath.Join(t.TempDir(), "group"), tt.before)
			s, err := New(Config{Cgroup: folder})
			if err != nil {
				t.Fatal(err)
			}
			if first, err := s.Sample(second); err != nil || first.CPU != Unknown || first.Load != Unknown {
				t.Errorf("first: %+v, %v", first, err)
			}
			write(t, folder, tt.after)
			if got, err := s.Sample(2 * second); err != nil || math.Abs(got.CPU-tt.want) > 1e-9 {
				t.Errorf("got %+v, %v; want %v", got, err, tt.want)
			}
			if got, err := s.Sample(2 * second); err != nil || got.CPU != Unknown {
				t.Errorf("at the same time: %+v, %v", got, err)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	file := filepath.Join(write(t, t.TempDir(), map[string]string{"loadavg": "2.75 1.00 0.50 3/400 12345\n"}), "loadavg")
	s, err := New(Config{Load: true, LoadFile: file})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Sample(second); err != nil || got != (Sample{Load: 2.75, CPU: Unknown}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// What cannot be read is an error that names it, at the start and later.
func TestFailures(t *testing.T) {
	t.Parallel()
	good := map[string]string{"cpu.stat": "usage_usec 1\n", "cpu.max": "max 100000\n"}
	old := map[string]string{"cpuacct.usage": "1\n", "cpu.cfs_quota_us": "1\n", "cpu.cfs_period_us": "1\n"}
	for _, tt := range []struct {
		name  string
		files map[string]string
		bad   map[string]string
		want  string
	}{
		{"no cgroup", nil, nil, "is no cgroup with the controller cpu: it has neither cpu.stat nor cpuacct.usage"},
		{"no usage", good, map[string]string{"cpu.stat": "nr_periods 0\n"}, "has no usage_usec"},
		{"no number", good, map[string]string{"cpu.stat": "usage_usec x\n"}, `usage_usec is "x"`},
		{"no limit", good, map[string]string{"cpu.max": "max\x00"}, `is "max\x00"`},
		{"no period", good, map[string]string{"cpu.max": "100"}, `is "100"`},
		{"nothing", good, map[string]string{"cpu.max": "0 100000"}, "0 in 100000 microseconds"},
		{"empty", good, map[string]string{"cpu.max": ""}, `is ""`},
		{"no number, version 1", old, map[string]string{"cpuacct.usage": "x"}, `is "x", no number`},
		{"no period, version 1", old, map[string]string{"cpu.cfs_period_us": "0"}, "1 in 0 microseconds"},
		{"no quota, version 1", old, map[string]string{"cpu.cfs_quota_us": ""}, `is "", no number`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			both := maps.Clone(tt.files)
			maps.Copy(both, tt.bad)
			if _, err := New(Config{Cgroup: write(t, t.TempDir(), both)}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("at the start: %v, want %s", err, tt.want)
			}
			if tt.files == nil {
				return
			}
			folder := write(t, t.TempDir(), tt.files)
			s, err := New(Config{Cgroup: folder})
			if err != nil {
				t.Fatal(err)
			}
			write(t, folder, tt.bad)
			if got, err := s.Sample(second); err == nil || !strings.Contains(err.Error(), tt.want) || got.CPU != Unknown {
				t.Errorf("later: %+v, %v, want %s", got, err, tt.want)
			}
		})
	}
	for text, want := range map[string]string{"": `begins with "", which is no load`, "x 1\n": `begins with "x", which is no load`, "-1 0": "is no load", "NaN 0": "is no load"} {
		file := filepath.Join(write(t, t.TempDir(), map[string]string{"loadavg": text}), "loadavg")
		if _, err := New(Config{Load: true, LoadFile: file}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("load %q: %v", text, err)
		}
	}
	if _, err := New(Config{Load: true, LoadFile: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a load that cannot be read")
	}
}

// TestRun measures once an interval, and says when it begins to fail and when no longer.
func TestRun(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		write(t, folder, map[string]string{"cpu.stat": "usage_usec 0\n", "cpu.max": "100000 100000\n"})
		s, err := New(Config{Cgroup: folder})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		var samples []float64
		var failures []bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			Run(ctx, s, time.Second, func() int64 { return int64(time.Since(begun)) },
				func(s Sample) { samples = append(samples, s.CPU) }, func(err error) { failures = append(failures, err != nil) })
		}()
		for _, stat := range []string{"usage_usec 500000\n", "x", "", "usage_usec 500000\n", "usage_usec 750000\n"} {
			synctest.Wait()
			write(t, folder, map[string]string{"cpu.stat": stat})
			time.Sleep(time.Second)
		}
		synctest.Wait()
		cancel()
		<-done
		want := []float64{Unknown, 0.5, Unknown, Unknown, Unknown, 0.25}
		if len(samples) != len(want) {
			t.Fatalf("%d samples, want %d: %v", len(samples), len(want), samples)
		}
		for i, v := range want {
			if math.Abs(samples[i]-v) > 1e-9 {
				t.Errorf("sample %d: %v, want %v", i, samples[i], v)
			}
		}
		if len(failures) != 2 || !failures[0] || failures[1] {
			t.Errorf("told of failures %v, want of the first and of the end", failures)
		}
	})
}

// This machine's own files are understood, where it has them.
func TestOfThisMachine(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/loadavg"); err != nil {
		t.Skip("no /proc/loadavg")
	}
	s, err := New(Config{Load: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Sample(second); err != nil || got.Load < 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
