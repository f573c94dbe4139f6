package engine

import "encoding/hex"

// Token stands for a call that was let pass and whose end some rule wants to know of. Whoever has it
// may end the call with Complete, once. It says nothing of the call, and nobody can make one up: half
// of it is random. The zero Token stands for no call.
type Token struct {
	place  uint64 // slot 32 | generation 32
	secret uint64 // random, never 0
}

// TokenText is the length of a token as text.
const TokenText = 32

// AppendText appends the token as text: lower-case hexadecimal digits.
func (t Token) AppendText(dst []byte) []byte {
	const digits = "0123456789abcdef"
	for _, word := range [2]uint64{t.place, t.secret} {
		for shift := 60; shift >= 0; shift -= 4 {
			dst = append(dst, digits[word>>shift&15])
		}
	}
	return dst
}

// String returns the token as text.
func (t Token) String() string { return string(t.AppendText(make([]byte, 0, TokenText))) }

// ParseToken reads the text of a token; false if it is none. It does not say that the token was ever
// issued. It allocates nothing.
func ParseToken(text string) (Token, bool) {
	if len(text) != TokenText {
		return Token{}, false
	}
	var digits [TokenText]byte
	copy(digits[:], text)
	var raw [TokenText / 2]byte
	if _, err := hex.Decode(raw[:], digits[:]); err != nil {
		return Token{}, false
	}
	t := Token{}
	for i := range 8 {
		t.place = t.place<<8 | uint64(raw[i])
		t.secret = t.secret<<8 | uint64(raw[8+i])
	}
	return t, t.secret != 0
}
