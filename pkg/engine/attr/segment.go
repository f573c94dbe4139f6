package attr

import (
	"strings"

	"github.com/sidecard/sidecard/pkg/engine"
)

// unescaped returns what a piece of the path stands for: each escape, which in a path of one spelling is of
// a byte that cannot stand there as it is, becomes that byte, once. A plus is no space in a path. What
// several rules ask for is decoded once.
func (b *Bag) unescaped(piece string) string {
	if strings.IndexByte(piece, '%') < 0 {
		return piece
	}
	for i := range b.found {
		if f := &b.found[i]; f.kind == kindSegment && f.name == piece {
			return f.value
		}
	}
	start := len(b.scratch.buf)
	for i := 0; i < len(piece); i++ {
		c := piece[i]
		if c == '%' && i+2 < len(piece) {
			if v, ok := unhex(piece[i+1], piece[i+2]); ok {
				c = v
				i += 2
			}
		}
		b.scratch.buf = append(b.scratch.buf, c)
	}
	value := b.scratch.since(start)
	b.found = append(b.found, finding{kind: kindSegment, name: piece, value: value, presence: engine.Present})
	return value
}
