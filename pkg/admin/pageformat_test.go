package admin

import (
	"strings"
	"testing"
	"time"
)

func TestFiguresForPeople(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		formatCount(0): "0", formatCount(999): "999", formatCount(1000): "1 000", formatCount(-1234567): "−1 234 567", formatCount(-1 << 63): "−9 223 372 036 854 775 808",
		formatRate(0): "0", formatRate(-1): "0", formatRate(.04): "<0.1", formatRate(.1): "0.1", formatRate(9.94): "9.9", formatRate(9.96): "10", formatRate(12345.6): "12 346",
		formatPercent(0): "0 %", formatPercent(.001): "<1 %", formatPercent(.504): "50 %", formatPercent(.9999): ">99 %", formatPercent(1): "100 %",
		formatMillis(0): "0 ms", formatMillis(.01): "<0.1 ms", formatMillis(1.24): "1.2 ms", formatMillis(1500): "1 500 ms",
		formatBytes(0): "0 B", formatBytes(1023): "1023 B", formatBytes(1536): "1.5 KiB", formatBytes(23 << 20): "23 MiB", formatBytes(1 << 62): "4.0 EiB",
		formatSpan(-time.Second): "0 s", formatSpan(119 * time.Second): "119 s", formatSpan(2 * time.Minute): "2 min", formatSpan(119 * time.Minute): "119 min",
		formatSpan(47 * time.Hour): "47 h", formatSpan(49 * time.Hour): "2 d",
		formatAgo(time.Unix(100, 0), time.Unix(101, 0)): "just now", formatAgo(time.Unix(103, 0), time.Unix(100, 0)): "3 s ago",
		formatName("a<b>\x00\u202e\xffä"): `a<b>\x00\u202e` + "\ufffdä",
	} {
		if got = strings.ReplaceAll(got, thin, " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
