package localapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sidecard/sidecard/pkg/rule"
)

// reader reads the JSON of one request token by token, so that whatever is wrong is found where it stands.
// It never goes deeper than the request does: what is not asked for is an error before its inside is read.
type reader struct {
	text []byte
	dec  *json.Decoder
}

func newReader(text []byte) *reader {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // as written: 12345678901234567890 is not 1.2345678901234567e19
	return &reader{text, dec}
}

// at returns where the next token begins.
func (r *reader) at() int {
	at := int(r.dec.InputOffset())
	for at < len(r.text) {
		switch r.text[at] {
		case ' ', '\t', '\r', '\n', ',', ':':
			at++
			continue
		}
		break
	}
	return at
}

// next returns the next token, of the value or key of that path, and where it begins.
func (r *reader) next(path string) (json.Token, int, error) {
	at := r.at()
	token, err := r.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return token, at, nil
	case errors.As(err, &syntax):
		return nil, at, &fault{path, min(at, len(r.text)), "malformed JSON: " + syntax.Error()}
	}
	return nil, at, &fault{path, len(r.text), "malformed JSON: it ends too soon"} // io.EOF, io.ErrUnexpectedEOF
}

// end says that nothing may follow.
func (r *reader) end() error {
	at := r.at()
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return &fault{"", at, "something follows the object of the request"}
	}
	return nil
}

// object reads an object of the given names, each of them at most once; read reads the value of name i.
func (r *reader) object(path string, names []string, read func(i int) error) error {
	var seen uint64
	return r.entries(path, func(name string, at int) error {
		for i, n := range names {
			switch {
			case n != name:
			case seen>>i&1 != 0:
				return &fault{join(path, name), at, "stands there twice"}
			default:
				seen |= 1 << i
				return read(i)
			}
		}
		return &fault{join(path, clip(name)), at, "unknown field" + rule.DidYouMean(name, names)}
	})
}

// entries reads an object of any names. read reads the value of a name, which stands at the given place.
func (r *reader) entries(path string, read func(name string, at int) error) error {
	if err := r.open(path, '{', "an object"); err != nil {
		return err
	}
	for r.dec.More() {
		token, at, err := r.next(path)
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return &fault{path, at, "malformed JSON: a name is expected"}
		}
		if err := read(name, at); err != nil {
			return err
		}
	}
	_, _, err := r.next(path)
	return err
}

// list reads an array; read reads the value of index i, which stands at the given place.
func (r *reader) list(path string, read func(i, at int) error) error {
	if err := r.open(path, '[', "a list"); err != nil {
		return err
	}
	for i := 0; r.dec.More(); i++ {
		if err := read(i, r.at()); err != nil {
			return err
		}
	}
	_, _, err := r.next(path)
	return err
}

func (r *reader) open(path string, want json.Delim, what string) error {
	token, at, err := r.next(path)
	if err != nil {
		return err
	}
	if token != want {
		return &fault{path, at, fmt.Sprintf("is %s; it must be %s", kindOf(token), what)}
	}
	return nil
}

func (r *reader) str(path string) (string, error) {
	token, at, err := r.next(path)
	if err != nil {
		return "", err
	}
	s, ok := token.(string)
	if !ok {
		return "", &fault{path, at, fmt.Sprintf("is %s; it must be a string", kindOf(token))}
	}
	return s, nil
}

func (r *reader) boolean(path string) (bool, error) {
	token, at, err := r.next(path)
	if err != nil {
		return false, err
	}
	b, ok := token.(bool)
	if !ok {
		return false, &fault{path, at, fmt.Sprintf("is %s; it must be true or false", kindOf(token))}
	}
	return b, nil
}

// whole reads a whole number and gives it to set.
func (r *reader) whole(path string, set func(int64) error) error {
	token, at, err := r.next(path)
	if err != nil {
		return err
	}
	number, ok := token.(json.Number)
	if !ok {
		return &fault{path, at, fmt.Sprintf("is %s; it must be a whole number", kindOf(token))}
	}
	n, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil {
		return &fault{path, at, fmt.Sprintf("%s is not a whole number of 63 bits", clip(number.String()))}
	}
	if err := set(n); err != nil {
		return &fault{path, at, err.Error()}
	}
	return nil
}

// scalar reads a string, a number or a truth value as text, as it is written; false for null.
func (r *reader) scalar(path string) (string, bool, error) {
	token, at, err := r.next(path)
	if err != nil {
		return "", false, err
	}
	switch v := token.(type) {
	case string:
		return v, true, nil
	case json.Number:
		return v.String(), true, nil
	case bool:
		return strconv.FormatBool(v), true, nil
	case nil:
		return "", false, nil
	}
	return "", false, &fault{path, at, fmt.Sprintf("is %s; it must be a string, a number, true or false", kindOf(token))}
}

func kindOf(token json.Token) string {
	switch v := token.(type) {
	case string:
		return "a string"
	case json.Number:
		return "the number " + clip(v.String())
	case bool:
		return strconv.FormatBool(v)
	case json.Delim:
		if v == '{' {
			return "an object"
		}
		return "a list"
	}
	return "null"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// clip shortens what may be as long as a request.
func clip(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// place returns the line and column, in bytes, of an offset, both from 1.
func place(text []byte, at int) (line, column int) {
	before := text[:min(at, len(text))]
	return 1 + bytes.Count(before, []byte{'\n'}), len(before) - bytes.LastIndexByte(before, '\n')
}
