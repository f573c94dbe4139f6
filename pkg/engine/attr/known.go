package attr

import (
	"fmt"
	"strings"

	"github.com/sidecard/sidecard/pkg/rule"
)

// prefixes are those of the keys that name one header, URL parameter, cookie or argument.
var prefixes = [...]string{"header.", "query.", "cookie.", argumentPrefix}

const argumentPrefix = "arg."

// reports are the keys with a dot that have a meaning of their own.
var reports = [...]string{"sidecard.token", "sidecard.code", "sidecard.flags"}

// Known returns nil if key is one that Add understands, as somebody would write it on purpose: one of
// the table at Add, or a bare name. Add itself takes "haeder.x-user" for a bare name too, and "header."
// for a header without a name, and does nothing for "arg.first"; for such keys, and for an empty one, the error
// says what is wrong.
func Known(key string) error {
	for _, p := range prefixes {
		name, ok := strings.CutPrefix(key, p)
		switch {
		case !ok:
		case name == "":
			return fmt.Errorf("%q is no attribute: it lacks the name after the dot", key)
		case p != argumentPrefix:
			return nil
		default:
			if _, ok := argumentNumber(name); !ok {
				return fmt.Errorf("%q is no attribute: arguments are arg.0 to arg.%d", key, rule.MaxArguments-1)
			}
			return nil
		}
	}
	for _, r := range reports {
		if key == r {
			return nil
		}
	}
	switch {
	case key == "":
		return fmt.Errorf("an empty name is no attribute")
	case strings.Contains(key, "."):
		return fmt.Errorf("%q is no attribute: a name with a dot begins with that of a kind: header, query, cookie or arg", key)
	}
	return nil
}

// Like returns the known keys with a dot that key, which is not known, may have been meant to be: those
// with the name after its first dot, and those of a completion report.
func Like(key string) []string {
	var keys []string
	if _, name, ok := strings.Cut(key, "."); ok && name != "" {
		for _, p := range prefixes {
			if k := p + name; Known(k) == nil {
				keys = append(keys, k)
			}
		}
	}
	return append(keys, reports[:]...)
}
