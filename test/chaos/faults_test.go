//go:build e2e && linux

package chaos

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == wallClock {
		os.Exit(runOnWallClock(os.Args[2], os.Args[3:]))
	}
	goleak.VerifyTestMain(m)
}

var update = flag.Bool("update", false, "rewrite the table in docs/faults.md")

// faults are what is done to a run, in the order of the table. Each returns the row of its run, or why it
// cannot be done here.
var faults = []struct {
	name  string
	run   func(t *testing.T) row
	alone bool // it measures this process, so that nothing else may run in it
}{
	{name: "sidecard killed and started again", run: killedSidecard},
	{name: "Envoy killed and started again", run: killedEnvoy},
	{name: "sidecard stopped for 3 s", run: stoppedSidecard},
	{name: "rule directory deleted and mounted again", run: lostRules},
	{name: "rules changing all the time", run: changingRules},
	{name: "disk of the socket directory full", run: fullDisk},
	{name: "no file descriptors left", run: fullDescriptors},
	{name: "flood of keys in limited memory", run: keyFlood},
	{name: "slow and half-open clients", run: slowClients},
	{name: "wall clock set forward and back", run: steppedClock},
	{name: "10 000 reloads, in process", run: manyReloads, alone: true},
}

// Whatever breaks, nobody is admitted above a bound, and no rule is lost. How many requests an outage lets
// through or fails depends on how long it lasts here, and is shown only.
func TestFaults(t *testing.T) {
	rows := make([]row, len(faults))
	t.Run("of", func(t *testing.T) {
		for i, f := range faults {
			rows[i] = row{fault: f.name, instead: "no result"}
			t.Run(f.name, func(t *testing.T) {
				if !f.alone {
					t.Parallel()
				}
				r := f.run(t)
				r.fault = f.name
				rows[i] = r
			})
		}
	})
	fmt.Printf("\n%s\n", table(rows))
	if *update && !t.Failed() {
		rewrite(t, rows)
	}
}

const page = "../../docs/faults.md"

var pageTable = regexp.MustCompile(`(?s)(<!-- make chaos -->\n).*?(<!-- end -->)`)

// rewrite puts the table of this run into the page.
func rewrite(t *testing.T, rows []row) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var kernel string
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = strings.TrimSpace(string(release))
	}
	now := fmt.Sprintf("Of %s, Linux %s on %s, %d processors, %s:\n\n", time.Now().UTC().Format("2 January 2006"), kernel, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	if err := os.WriteFile(page, pageTable.ReplaceAll(text, []byte("${1}"+now+table(rows)+"${2}")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The page has a row for every fault, and says what it means.
func TestPageNamesEveryFault(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if n := strings.Count(string(text), "| "+f.name+" |"); n != 2 {
			t.Errorf("%s is in %d rows of %s, want one with figures and one with words", f.name, n, page)
		}
	}
}
