package rule

// Placeholder is what a text of a block response leaves open until a request is refused.
type Placeholder uint8

// The placeholders. PlaceholderNone, the zero value, is none: text as it stands.
const (
	PlaceholderNone       Placeholder = iota
	PlaceholderRule                   // {rule}: the id of the rule that refused
	PlaceholderResource               // {resource}: the resource that was asked for
	PlaceholderReason                 // {reason}: why it was refused
	PlaceholderRetryAfter             // {retry_after}: whole seconds until it would pass; if nobody knows, null in JSON and nothing elsewhere
)

// placeholderNames are what is written between the braces.
var placeholderNames = [...]string{
	PlaceholderRule: "rule", PlaceholderResource: "resource", PlaceholderReason: "reason", PlaceholderRetryAfter: "retry_after",
}

// String returns the placeholder as it is written, braces included; empty for PlaceholderNone.
func (p Placeholder) String() string {
	if p == PlaceholderNone || int(p) >= len(placeholderNames) {
		return ""
	}
	return "{" + placeholderNames[p] + "}"
}

// Segment is a piece of a text: Text if Placeholder is PlaceholderNone, else what stands for it.
type Segment struct {
	Text        string
	Placeholder Placeholder
}

// Segments cuts a text of a BlockResponse into its pieces, in order; none of them is empty. What is
// in braces but no placeholder is text, so any string may be given.
func Segments(text string) []Segment {
	var out []Segment
	begin := 0
	for at := 0; at < len(text); {
		word := braced(text[at:])
		p := placeholderOf(word)
		if p == PlaceholderNone {
			at++
			continue
		}
		if begin < at {
			out = append(out, Segment{Text: text[begin:at]})
		}
		out = append(out, Segment{Placeholder: p})
		at += len(word) + len("{}")
		begin = at
	}
	if begin < len(text) {
		out = append(out, Segment{Text: text[begin:]})
	}
	return out
}

// braced returns the word in the braces that text begins with; empty if it begins otherwise. A word
// is a letter and then letters, digits, dots, dashes and underscores: what JSON and style sheets
// have in braces is none.
func braced(text string) string {
	if len(text) < 2 || text[0] != '{' || !isLetter(text[1]) {
		return ""
	}
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case c == '}':
			return text[1:i]
		case !isLetter(c) && !isDigit(c) && c != '.' && c != '-' && c != '_':
			return ""
		}
	}
	return ""
}

func placeholderOf(word string) Placeholder {
	for p, name := range placeholderNames {
		if word == name && word != "" {
			return Placeholder(p)
		}
	}
	return PlaceholderNone
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
