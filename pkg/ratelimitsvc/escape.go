package ratelimitsvc

import (
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escaping is how a text is made harmless in the place where it is put.
type escaping uint8

const (
	escapeText   escaping = iota // control characters become U+FFFD
	escapeJSON                   // what may stand inside a JSON string, without the quotes
	escapeMarkup                 // what may stand in the text or an attribute of HTML or XML
	escapeHeader                 // all bytes but visible ASCII as %XX, in capitals
)

// escapingOf returns how a body of that type is escaped.
func escapingOf(contentType string) escaping {
	kind, _, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
		return escapeText
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return escapeJSON
	case kind == "text/html" || kind == "text/xml" || kind == "application/xml" || strings.HasSuffix(kind, "+xml"):
		return escapeMarkup
	}
	return escapeText
}

const hexDigits = "0123456789ABCDEF"

// append appends s escaped. Bytes that are no UTF-8 become U+FFFD, except in a header, where they
// are kept as %XX like all that is not plain.
func (e escaping) append(dst []byte, s string) []byte {
	switch e {
	case escapeJSON:
		return appendJSON(dst, s)
	case escapeMarkup:
		return appendMarkup(dst, s)
	case escapeHeader:
		return appendPercent(dst, s)
	}
	for _, c := range s {
		dst = utf8.AppendRune(dst, printable(c))
	}
	return dst
}

func appendJSON(dst []byte, s string) []byte {
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c < ' ' || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = utf8.AppendRune(dst, c)
		}
	}
	return dst
}

func appendMarkup(dst []byte, s string) []byte {
	for _, c := range s {
		switch c {
		case '&':
			dst = append(dst, "&amp;"...)
		case '<':
			dst = append(dst, "&lt;"...)
		case '>':
			dst = append(dst, "&gt;"...)
		case '"':
			dst = append(dst, "&#34;"...)
		case '\'':
			dst = append(dst, "&#39;"...)
		default:
			dst = utf8.AppendRune(dst, printable(c))
		}
	}
	return dst
}

// printable replaces what would begin a line, move a cursor, or is no character of XML.
func printable(c rune) rune {
	if unicode.IsControl(c) || c == 0xfffe || c == 0xffff {
		return utf8.RuneError
	}
	return c
}

func appendPercent(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c > ' ' && c <= '~' {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}
