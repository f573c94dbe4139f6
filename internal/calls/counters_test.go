package calls

import (
	"fmt"
	"testing"
)

func TestCountersBound(t *testing.T) {
	t.Parallel()
	var c Counters
	for range c.Unmatched {
		t.Fatal("zero value: got a domain")
	}
	borrowed := []byte("d00")
	for i := range 100 {
		copy(borrowed, fmt.Sprintf("d%02d", i))
		c.AddUnmatched(string(borrowed), 1, true)
		c.AddUnmatched(string(borrowed), 2, false)
	}
	got := map[string]Unmatched{}
	for d, n := range c.Unmatched {
		got[d] = n
	}
	if len(got) != maxDomains+1 || got["d00"] != (Unmatched{3, 1}) || got["d63"] != (Unmatched{3, 1}) || got[OtherDomains] != (Unmatched{3 * 36, 36}) {
		t.Errorf("got %v", got)
	}
}
