package metrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// resourceLines returns what a scrape says of resources one by one.
func resourceLines(t *testing.T, m *Metrics) []string {
	t.Helper()
	return slices.DeleteFunc(scraped(t, m), func(l string) bool {
		return !strings.HasPrefix(l, "sidecard_resource_") || !strings.Contains(l, "{")
	})
}

// Resources that rules name are shown each, those that only requests name are not, whatever they are called.
func TestResources(t *testing.T) {
	t.Parallel()
	const tracked = `{"degradeRules": [{"id": "b", "resource": "orders", "grade": 2, "count": 100, "timeWindow": 10}]}`
	e := newEngine(t, tracked)
	s := sourcesOf(e.Rules)
	s.Resources, s.ResourceCounts = e.ResourceTotals, e.ResourceCounts
	m := New(s)
	ask(e, "orders")
	for i := range 20 {
		ask(e, fmt.Sprint("made-up-", i))
	}
	want := []string{
		`sidecard_resource_in_flight{resource="(other)"} 0`,
		`sidecard_resource_in_flight{resource="orders"} 1`,
		`sidecard_resource_requests_total{resource="(other)",result="block"} 0`,
		`sidecard_resource_requests_total{resource="(other)",result="pass"} 20`,
		`sidecard_resource_requests_total{resource="orders",result="block"} 0`,
		`sidecard_resource_requests_total{resource="orders",result="pass"} 1`,
	}
	if got := resourceLines(t, m); !slices.Equal(got, want) {
		t.Errorf("before any report: got %q", got)
	}
	ended(e, "orders", time.Second, false)
	ended(e, "orders", 500*time.Millisecond, true)
	got := resourceLines(t, m)
	for _, want := range []string{
		`sidecard_resource_errors_total{resource="orders"} 1`,
		`sidecard_resource_response_seconds_count{resource="orders"} 2`,
		`sidecard_resource_response_seconds_sum{resource="orders"} 1.5`,
		`sidecard_resource_requests_total{resource="orders",result="pass"} 3`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not there: %q", want, got)
		}
	}
	// The rule leaves: its resource is one that only requests name, and goes on where the others are.
	apply(t, e, `{"degradeRules": []}`)
	m.Applied("none", applied)
	ask(e, "orders")
	want = []string{`sidecard_resource_requests_total{resource="(other)",result="block"} 0`, `sidecard_resource_requests_total{resource="(other)",result="pass"} 21`}
	if got := of(resourceLines(t, m), "resource_requests_total"); !slices.Equal(got, want) {
		t.Errorf("without the rule: got %q", got)
	}
	apply(t, e, tracked)
	m.Applied("tracked", applied)
	ask(e, "orders")
	if got := of(resourceLines(t, m), "resource_requests_total"); !slices.Contains(got, `sidecard_resource_requests_total{resource="orders",result="pass"} 4`) {
		t.Errorf("with the rule again: got %q", got)
	}
}
