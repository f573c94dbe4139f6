//go:build e2e && linux

package chaos

import (
	"fmt"
	"strings"
)

// usage is what the daemon takes.
type usage struct{ rss, goroutines, fds float64 }

// row is what came of one fault.
type row struct {
	fault         string
	outcome       outcome
	allowed       int64 // requests that Envoy let pass without an answer, by its own counter
	before, after usage
	peak          float64 // most resident bytes
	lost          int     // rules that were in force before and are not any more
	instead       string  // why there are no figures, if there are none
}

const header = "| fault | sent | failed | let through, by Envoy's count | admitted wrongly | rules lost | resident MiB before, most, after | goroutines | descriptors |\n" +
	"|---|---|---|---|---|---|---|---|---|\n"

// table writes rows as a table of Markdown.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString(header)
	for _, r := range rows {
		if r.instead != "" {
			fmt.Fprintf(&b, "| %s | %s | | | | | | | |\n", r.fault, r.instead)
			continue
		}
		const mib = 1 << 20
		fmt.Fprintf(&b, "| %s | %d | %d | %d, %d | %d | %d | %.1f, %.1f, %.1f | %.0f, %.0f | %.0f, %.0f |\n",
			r.fault, r.outcome.sent, r.outcome.failed, r.outcome.letThrough, r.allowed, r.outcome.wrongly(), r.lost,
			r.before.rss/mib, r.peak/mib, r.after.rss/mib, r.before.goroutines, r.after.goroutines, r.before.fds, r.after.fds)
	}
	return b.String()
}
