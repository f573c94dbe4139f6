package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sidecard/sidecard/bench/inprocess"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	tests := []struct {
		values []float64
		want   string
	}{
		{nil, "-"},
		{[]float64{3}, "3.0 (3.0-3.0)"},
		{[]float64{9, 1, 2}, "2.0 (1.0-9.0)"},
		{[]float64{4, 1, 2, 9}, "3.0 (1.0-9.0)"},
	}
	for _, tt := range tests {
		if got := spread("%.1f", tt.values); got != tt.want {
			t.Errorf("spread of %v: %s, want %s", tt.values, got, tt.want)
		}
	}
}

// TestRatiosPairRounds has a machine that becomes ten times slower in the second round: the ratio
// within each round does not see it, a ratio of medians would.
func TestRatiosPairRounds(t *testing.T) {
	t.Parallel()
	runs := [2][]sample{{{cpu: 8}, {cpu: 90}, {cpu: 8}}, {{cpu: 10}, {cpu: 100}, {cpu: 80}}}
	var out bytes.Buffer
	printRatios(&out, [2]subject{{name: "a"}, {name: "b"}}, allRows[:1], [][2][]sample{runs})
	if want := "| m1 | 0.80 (0.10-0.90) |"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
	if want := "| 3 of 3 |"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}

func TestSelectRows(t *testing.T) {
	t.Parallel()
	rows, err := selectRows("r5k,m1")
	if err != nil || len(rows) != 2 || rows[0].name != "r5k" || rows[1].name != "m1" {
		t.Errorf("%v, %v", rows, err)
	}
	if _, err := selectRows("m1,m2"); err == nil {
		t.Error("no error for an unknown load")
	}
}

// TestProcessCPU holds our own processor time between two readings of another source.
func TestProcessCPU(t *testing.T) {
	used := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	got, err := processCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const grain = time.Millisecond // getrusage is not exact to the nanosecond
	if after := used(); got < before-grain || got > after+grain {
		t.Errorf("%v is not between %v and %v", got, before, after)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		target target
		want   string
	}{
		{target{limit: 3}, "-"},
		{target{limit: 3, values: []float64{3}}, "met"},
		{target{limit: 3, values: []float64{1, 2, 9}}, "met"},
		{target{limit: 3, values: []float64{1, 4, 9}}, "NOT MET"},
		{target{limit: 3, values: []float64{4}, busy: true}, "the machine is too busy"},
		{target{limit: 3, values: []float64{2}, busy: true}, "met"},
	}
	for _, tt := range tests {
		if got := tt.target.verdict(); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.target, got, tt.want)
		}
	}
}

// TestCompareWithItself runs everything once on two plain servers.
func TestCompareWithItself(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("needs a core for the server and one for the client")
	}
	floor := filepath.Join(t.TempDir(), "floor")
	if err := goBuild(t.Context(), "../..", floor, "./floor"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := options{rounds: 2, duration: 10 * time.Millisecond, keys: 100, rows: "m1,c4m16,r5k", sidecard: floor, base: floor}
	if err := run(t.Context(), o, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n| c4m16: 4 x 16 | floor | ", "\n| r5k | ", "\n| start to first answer, ms | ", " of 2 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestTargets runs everything once on a daemon and the plain server, and wants a verdict on every line.
func TestTargets(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("needs a core for the server and one for the client")
	}
	var out bytes.Buffer
	o := options{
		rounds: 2, duration: 10 * time.Millisecond, keys: 100, rows: "m1,m32,c4m16,r5k", root: "../../..", fill: 1000, targets: true,
		inprocess: inprocess.Options{Rounds: 2, Calls: 1000, Keys: 100, Table: 2000, Rules: 20, Reloads: 3},
	}
	if err := run(t.Context(), o, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(out.String(), "\n| target | ")
	line := regexp.MustCompile(`(?m)^\| [^|]+ \| [0-9.]+.* \| [0-9.]+.* \| (met|NOT MET|the machine is too busy) \| .*\|$`)
	if got := len(line.FindAllString(table, -1)); got != 20 {
		t.Errorf("%d verdicts, want 20:\n%s", got, out.String())
	}
	t.Log(out.String())
}
