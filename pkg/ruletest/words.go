package ruletest

import (
	"slices"
	"strings"
)

// never is what retryAfter says of a request that will not fit, or of which nobody knows when it will.
const never = "never"

// what names a request in a few words: its resource, else its path, else how it is matched at all.
func (it *item) what() string {
	for _, key := range []string{"resource", "route", "generic_key", "path", ":path"} {
		for _, a := range it.attrs {
			if a.key == key && a.value != "" {
				return a.value
			}
		}
	}
	return "request"
}

func joined(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
}

func sorted(words []string) []string {
	slices.Sort(words)
	return words
}

// reasonWithin is the reason that is asked for, if the text of an error has it.
func reasonWithin(asked *string, text string) *string {
	if asked == nil || !strings.Contains(text, *asked) {
		return nil
	}
	return asked
}
