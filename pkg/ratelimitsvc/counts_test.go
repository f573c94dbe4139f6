package ratelimitsvc

import (
	"strings"
	"testing"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
)

func TestServiceCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	secret := pairs("route", "nowhere", "header.authorization", "s3cret")
	override := pairs("route", "orders")
	override.Limit = &common.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 1, Unit: 77}
	for range 3 {
		w.ask(t, describe(pairs("route", "orders"), secret, pairs(), secret))
	}
	w.ask(t, describe(override, override))
	for domain, n := range w.counters.Unmatched {
		if domain != "sidecard" || n != 6 {
			t.Errorf("unmatched: got %d of %q, want 6 of sidecard", n, domain)
		}
	}
	if n := w.counters.OverridesIgnored.Load(); n != 2 {
		t.Errorf("overrides: got %d, want 2", n)
	}
	w.now.Add(int64(logEvery))
	w.ask(t, describe(secret))
	lines := strings.Split(strings.TrimSpace(w.log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"keys":["route","header.authorization"]`) || !strings.Contains(lines[1], `"skipped":2`) {
		t.Errorf("got lines %q", lines)
	}
	if strings.Contains(w.log.String(), "s3cret") || strings.Contains(w.log.String(), "nowhere") {
		t.Errorf("a value is in the log: %s", w.log.String())
	}
}
