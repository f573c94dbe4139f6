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
		c.AddUnmatched(string(borrowed), 1)
		c.AddUnmatched(string(borrowed), 2)
	}
	got := map[string]int64{}
	for d, n := range c.Unmatched {
		got[d] = n
	}
	if len(got) != maxDomains+1 || got["d00"] != 3 || got["d63"] != 3 || got[OtherDomains] != 3*36 {
		t.Errorf("got %v", got)
	}
}
