package attr

import (
	"strconv"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// addArgument notes the argument of a number, which has one spelling: "01" is none.
func (b *Bag) addArgument(number, value string) {
	i, ok := argumentNumber(number)
	if !ok {
		return
	}
	for len(b.args) <= i {
		b.args = append(b.args, field{})
	}
	if f := &b.args[i]; !f.sent {
		*f = field{value, true}
	}
}

func argumentNumber(s string) (n int, ok bool) {
	if s == "" || len(s) > 2 || s[0] == '0' && s != "0" {
		return 0, false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, n < rule.MaxArguments
}

// argument looks an argument up by its number, which is negative if it is counted from the end.
func (b *Bag) argument(number string) (string, engine.Presence) {
	i, err := strconv.Atoi(number)
	if err != nil {
		return "", engine.Absent
	}
	if i < 0 {
		i += b.arguments()
	}
	if i < 0 || i >= len(b.args) {
		return "", engine.Absent
	}
	return b.args[i].value, presence(b.args[i].sent)
}

// arguments counts those that were sent without a gap.
func (b *Bag) arguments() int {
	for i := range b.args {
		if !b.args[i].sent {
			return i
		}
	}
	return len(b.args)
}

// attribute looks an attribute up by its key.
func (b *Bag) attribute(key string) (string, engine.Presence) {
	switch key {
	case "path":
		if b.pathTooLarge {
			return "", engine.TooLarge
		}
		return b.path, presence(b.path != "")
	case "method":
		return b.method, presence(b.method != "")
	case "resource":
		return b.raw(knownResource)
	case "route":
		return b.raw(knownRoute)
	case "generic_key":
		return b.raw(knownGenericKey)
	}
	first, _ := b.sent(kindBare, key)
	return first.value, presence(first.sent)
}

func (b *Bag) raw(k known) (string, engine.Presence) {
	f := &b.known[k]
	return f.value, presence(f.sent)
}
