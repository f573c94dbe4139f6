package ruletest

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
)

// Bounds on what case files ask for, so that none runs for ever by mistake.
const (
	maxTime  = 10 * 365 * 24 * time.Hour
	maxTimes = 1_000_000
	maxHits  = 1<<53 - 1
)

// reader reads the values of a case file and reports what is wrong with them.
type reader struct{ doc *rule.Document }

func (r *reader) text(v rule.Value) (string, bool) {
	if s, ok := v.Text(); ok {
		return s, true
	}
	fix := ""
	if n, ok := v.Number(); ok {
		fix = strconv.Quote(n)
	}
	if b, ok := v.Bool(); ok {
		fix = strconv.Quote(strconv.FormatBool(b))
	}
	if fix != "" {
		fix = "write " + fix
	}
	r.doc.Fail(v, fmt.Sprintf("is %s, not a string", v), fix)
	return "", false
}

// plain reads a value that stands for its text, such as that of an attribute: 7 is "7".
func (r *reader) plain(v rule.Value) (string, bool) {
	if s, ok := v.Text(); ok {
		return s, true
	}
	if n, ok := v.Number(); ok {
		return n, true
	}
	if b, ok := v.Bool(); ok {
		return strconv.FormatBool(b), true
	}
	r.doc.Fail(v, fmt.Sprintf("is %s, not a plain value", v), `write "" for an empty value, and leave out what the request has not`)
	return "", false
}

func (r *reader) flag(v rule.Value) bool {
	b, ok := v.Bool()
	if !ok {
		r.doc.Fail(v, fmt.Sprintf("is %s, not a boolean", v), "write true or false")
	}
	return b
}

// count reads a whole number within bounds; least if it is none.
func (r *reader) count(v rule.Value, least, most int64) int64 {
	text, ok := v.Number()
	if !ok {
		r.doc.Fail(v, fmt.Sprintf("is %s, not a number", v), "")
		return least
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		r.doc.Fail(v, fmt.Sprintf("is %s; it must be a whole number from %d to %d", text, least, most), "")
		return least
	}
	return n
}

// measure reads a number of 0 or more; 0 if it is none.
func (r *reader) measure(v rule.Value) float64 {
	text, ok := v.Number()
	n, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil || !(n >= 0) {
		r.doc.Fail(v, fmt.Sprintf("is %s; it must be a number of 0 or more", cmp.Or(text, v.String())), "")
		return 0
	}
	return n
}

// duration reads a time with its unit, of which 0 needs none. It is 0 where there is no such time.
func (r *reader) duration(v rule.Value) time.Duration {
	d, _ := r.time(v)
	return d
}

// time is duration, and says whether it is one.
func (r *reader) time(v rule.Value) (time.Duration, bool) {
	text, isNumber := v.Number()
	if !isNumber {
		var ok bool
		if text, ok = v.Text(); !ok {
			r.doc.Fail(v, fmt.Sprintf("is %s, not a time", v), "write a number with its unit, such as 500ms")
			return 0, false
		}
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil && isNumber:
		r.doc.Fail(v, fmt.Sprintf("is %s, of which the unit is missing", text), fmt.Sprintf("write %sms, or %ss", text, text))
	case err != nil:
		r.doc.Fail(v, fmt.Sprintf("%q is no time", text), "write a number with its unit, such as 500ms, 3s or 2m30s")
	case d < 0 || d > maxTime:
		r.doc.Fail(v, fmt.Sprintf("is %s; it must be from 0s to %s", text, maxTime), "")
	default:
		return d, true
	}
	return 0, false
}
