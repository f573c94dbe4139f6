//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/configmap"
	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// tenThousand is a file of as many rules and a MiB, the most that a ConfigMap holds.
func tenThousand(t *testing.T, n int) string {
	t.Helper()
	rest := strings.TrimPrefix(strings.TrimSpace(version(n)), "[")
	var b strings.Builder
	b.WriteString("[")
	for i := range 10_000 - 2 {
		fmt.Fprintf(&b, "{\"id\":\"r%06d\",\"resource\":\"a-resource-of-a-large-shop-%06d\",\"count\":%d,\"intervalSec\":1},\n", i, i, 10+i)
	}
	b.WriteString(rest)
	if b.Len() > 1<<20 {
		t.Fatalf("%d bytes, a ConfigMap holds at most %d", b.Len(), 1<<20)
	}
	// Blanks up to the MiB, before the last bracket.
	return strings.TrimSuffix(b.String(), "]") + strings.Repeat(" ", 1<<20-b.Len()) + "]"
}

// The largest file that a ConfigMap can hold is loaded like any other, and the calls go on meanwhile.
func TestTenThousandRules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	swap := func(content string) {
		t.Helper()
		if err := configmap.Write(dir, map[string][]byte{rulesFile: []byte(content)}); err != nil {
			t.Fatal(err)
		}
	}
	swap(version(0))
	s := ready(t, dir)
	c := client(t, "")
	inForce(t, s, c, 0)
	loads := func() (*load, *load) {
		return keepSending(t, s, c, "/closed", 150), keepSending(t, s, c, "/orders", 150)
	}
	check := func(what string, closedRoute, openRoute *load) {
		t.Helper()
		refusals, passes := closedRoute.stop(), openRoute.stop()
		wantClosed(t, refusals)
		wantOpen(t, passes)
		all := append(refusals, passes...)
		t.Logf("%s: %d requests, from sending to the answer: median %v, 99 %% %v, most %v", what, len(all), spanAt(all, 0.5), spanAt(all, 0.99), spanAt(all, 1))
	}
	closedRoute, openRoute := loads()
	if err := envoytest.Pause(t.Context(), 2*time.Second); err != nil {
		t.Fatal(err)
	}
	check("without a reload", closedRoute, openRoute)

	closedRoute, openRoute = loads()
	const swaps = 5
	start := time.Now()
	for n := 1; n <= swaps; n++ {
		swap(tenThousand(t, n))
		inForce(t, s, c, n)
	}
	t.Logf("%v from a swap to its effect on average", (time.Since(start) / swaps).Round(time.Millisecond))
	check("while 1 MiB of 10 000 rules was loaded five times", closedRoute, openRoute)
	if good, bad, err := reloads(soon(t), s); err != nil || good != swaps+1 || bad != 0 {
		t.Errorf("loaded %d times, refused %d times (%v), want %d and 0", good, bad, err, swaps+1)
	}
	wantNoErrors(t, s)
}

// spanAt returns the time from sending to the answer that so large a part of the replies took at most.
func spanAt(replies []envoytest.Reply, part float64) time.Duration {
	spans := make([]time.Duration, len(replies))
	for i, r := range replies {
		spans[i] = r.Done.Sub(r.Sent)
	}
	slices.Sort(spans)
	return spans[int(part*float64(len(spans)-1))].Round(10 * time.Microsecond)
}
