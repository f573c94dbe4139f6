package admin

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
)

// pageFuncs are what the templates write numbers and times with.
func pageFuncs() template.FuncMap {
	return template.FuncMap{
		"rate": formatRate, "count": formatAny, "bytes": formatBytes, "ms": formatMillis, "percent": formatPercent,
		"load": func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) },
		"ago":  formatAgo, "name": formatName, "stamp": formatStamp, "iso": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"breaker": func(b *Breaker, now time.Time) breakerAt { return breakerAt{b, now} },
		"short":   func(revision string) string { return revision[:min(12, len(revision))] },
		"lines":   func(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") },
		"span":    func(d float64) string { return formatSpan(time.Duration(d * float64(time.Second))) },
		"uptime":  func(sec int64) string { return formatSpan(time.Duration(sec) * time.Second) },
	}
}

// breakerAt is a circuit breaker, or nil, with the time by which it is shown.
type breakerAt struct {
	Breaker *Breaker
	Now     time.Time
}

// formatName writes out what nobody would see of a name, or what would turn the text around it.
func formatName(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// thin is a narrow blank that nothing is broken at: it separates thousands, and units from figures.
const thin = "\u202f"

// formatAny formats a count of any of the types that there are.
func formatAny(n any) (string, error) {
	switch n := n.(type) {
	case int:
		return formatCount(int64(n)), nil
	case int64:
		return formatCount(n), nil
	case *int64:
		return formatCount(*n), nil
	}
	return "", fmt.Errorf("%T is no count", n)
}

func formatCount(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "−", digits[1:]
	}
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return sign + strings.Join(append([]string{digits}, groups...), thin)
}

// formatRate writes a rate with as many digits as tell something.
func formatRate(v float64) string {
	switch {
	case v <= 0:
		return "0"
	case v < 0.1:
		return "<0.1"
	case v < 9.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return formatCount(int64(math.Round(v)))
}

// formatPercent writes a share. What is little is not nothing, and what is nearly all is not all.
func formatPercent(share float64) string {
	switch percent := share * 100; {
	case share > 0 && percent < 1:
		return "<1" + thin + "%"
	case share < 1 && percent > 99:
		return ">99" + thin + "%"
	default:
		return strconv.FormatFloat(math.Round(percent), 'f', 0, 64) + thin + "%"
	}
}

func formatMillis(v float64) string {
	switch {
	case v <= 0:
		return "0" + thin + "ms"
	case v < 0.1:
		return "<0.1" + thin + "ms"
	case v < 9.95:
		return strconv.FormatFloat(v, 'f', 1, 64) + thin + "ms"
	}
	return formatCount(int64(math.Round(v))) + thin + "ms"
}

func formatBytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	v, unit := float64(n), 0
	for v >= 1024 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	if unit > 0 && v < 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64) + thin + units[unit]
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + thin + units[unit]
}

// formatSpan writes a time in its largest unit.
func formatSpan(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		from time.Duration // less is written in the next smaller unit
		name string
	}{{24 * time.Hour, 48 * time.Hour, "d"}, {time.Hour, 2 * time.Hour, "h"}, {time.Minute, 2 * time.Minute, "min"}} {
		if d >= unit.from {
			return fmt.Sprintf("%d%s%s", d/unit.of, thin, unit.name)
		}
	}
	return fmt.Sprintf("%d%ss", max(d/time.Second, 0), thin)
}

func formatAgo(now, t time.Time) string {
	d := now.Sub(t)
	if d < time.Second {
		return "just now"
	}
	return formatSpan(d) + " ago"
}

func formatStamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
