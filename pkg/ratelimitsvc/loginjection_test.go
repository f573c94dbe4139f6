package ratelimitsvc

import (
	"encoding/json"
	"strings"
	"testing"
)

// What clients send is written to no log: not when no rule applies to it, not when the call is malformed,
// and not when it is refused. What Envoy's configuration determines, keys and the domain, is written as it
// is, in lines that stay lines.
func TestLogHoldsNoValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	const mark = "SECRET"
	evil := mark + "\n{\"level\":\"fatal\",\"message\":\"owned\"}\n\x1b[2J"
	wires := [][]byte{
		rawAttributes("route", evil, "header.x-user-id", evil, "path", evil),
		rawAttributes("route", "closed", "cookie", evil, "header.x", evil),
		rawAttributes("sidecard.token", evil, "sidecard.code", evil, "sidecard.flags", evil),
		rawAttributes("user", evil)[:30],                                            // cut within the value
		protoCat(protoBytes(1, ""), rawDescriptor(rawEntry("route", evil))),         // no domain
		rawRequest(repeat(rawDescriptor(rawEntry("route", evil)), 65)),              // too many
		append(rawAttributes("route", "orders", "path", evil), 0xff, 0xff, 0xff),    // broken after the value
		rawRequest(rawDescriptor(rawEntry("key\n\"of\" Envoy's", mark+"\xff\xfe"))), // a key that is odd
	}
	for i, b := range wires {
		w.now.Add(int64(logEvery)) // each may write its line
		w.wire(t.Context(), b)     // what it is answered is tested elsewhere
		if strings.Contains(w.log.String(), mark) {
			t.Fatalf("call %d is logged with its value: %s", i, w.log.String())
		}
	}
	lines := strings.Split(strings.TrimSuffix(w.log.String(), "\n"), "\n")
	if len(lines) < 5 {
		t.Errorf("%d lines were written, so that little was tried: %q", len(lines), lines)
	}
	odd := false
	for _, line := range lines {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil || fields["level"] == "fatal" {
			t.Errorf("the line %q: %v", line, err)
		}
		odd = odd || strings.Contains(line, `key\n\"of\" Envoy's`)
	}
	if !odd {
		t.Errorf("the key of Envoy's configuration is in none of %q", lines)
	}
}
