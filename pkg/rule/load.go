package rule

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

// ParamCodes says which table the numbers of parseStrategy follow. Names mean the same in both.
type ParamCodes uint8

// The tables in use.
const (
	ParamCodesSentinel ParamCodes = iota // Sentinel's: 0 client_ip, 1 host, 2 header, 3 url_param, 4 cookie
	ParamCodesURLFirst                   // 0 url_param, 1 path_param, 2 header, 3 cookie, 4 client_ip
)

// String returns the name that ParseParamCodes takes.
func (c ParamCodes) String() string { return paramCodeTables.nameOf(int64(c)) }

// ParseParamCodes reads the name of a table, sentinel or url-first.
func ParseParamCodes(name string) (ParamCodes, error) {
	m, reason := paramCodeTables.find(&node{kind: stringNode, text: name})
	if reason != "" {
		return 0, fmt.Errorf("param codes: %s", reason)
	}
	return ParamCodes(m.number), nil
}

// Options are what a set is read with. The zero value reads as Sentinel does.
type Options struct {
	ParamCodes ParamCodes // a bundle's own paramCodes comes first
	Shadow     bool       // every rule is in shadow, whatever it says
	System     SystemInputs
	MaxWait    time.Duration // how long Envoy lets a call wait for its turn; 0: not known
}

// maxFileProblems bounds what is reported of one file.
const maxFileProblems = 1000

// full says whether no more is reported of the file.
func (f *fileLoad) full() bool { return f.reported >= maxFileProblems }

// TooManyProblems is the message of the last problem of a file that has more than are reported.
const TooManyProblems = "too many problems; the rest of the file is not reported"

// Load reads and validates a whole rule set. It reports every problem of every file at once; if one
// of them is an error the set is empty and must not be used (see Problems.Err). Rules that limit are in
// the order of their kinds; those of one kind, and all others, are in the order of their files' names,
// then of the files. Load does not touch the files' data afterwards,
// reads nothing else and does not panic, whatever the data is.
func Load(files []File, o Options) (Set, Problems) {
	l := &loader{options: o, ids: make(map[idKey]claim), apis: make(map[idKey]Position)}
	files = byName(files)
	if len(files) == 0 {
		l.problems = append(l.problems, Problem{Message: "no rule files"})
	}
	for i, file := range files {
		f := &fileLoad{loader: l, name: file.Name, codes: o.ParamCodes}
		if i > 0 && files[i-1].Name == file.Name {
			f.fail(spot{}, "the same file twice", "")
			continue
		}
		f.load(file.Data)
		f.finish()
	}
	if !l.unread {
		l.checkGroups()
		l.checkVariables()
	}
	l.problems.sort()
	if len(l.problems.Errors()) > 0 {
		return Set{}, l.problems
	}
	slices.SortStableFunc(l.set.Limits, func(a, b LimitRule) int { return cmp.Compare(a.Kind, b.Kind) })
	slices.Sort(l.set.Claimed)
	l.set.Claimed = slices.Compact(l.set.Claimed)
	l.set.Revision = Revision(files)
	return l.set, l.problems
}

// loader is the state of one Load.
type loader struct {
	options  Options
	set      Set
	problems Problems
	ids      map[idKey]claim    // rule ids
	apis     map[idKey]Position // names of API definitions

	references []reference // resources of rules, compared with apis at the end
	variables  []variableReference
	unread     bool // some file could not be read, so what it defines is unknown
}

// claim is a rule that has an id: its place, and whether the id is written there.
type claim struct {
	at      Position
	written bool
}

// idKey is a name within a domain.
type idKey struct{ domain, name string }

// fileLoad is the state of loading one file.
type fileLoad struct {
	*loader
	name     string
	codes    ParamCodes
	domain   string
	rule     string // the rule being read, for its problems
	reported int    // problems of the file, of which errors are errors
	errors   int
	ignored  []ignoredField
	draft    limitDraft // the rule being read; kept over rules because it is large
}

type ignoredField struct {
	name  string
	first spot
	count int
}

func (f *fileLoad) position(at spot) Position {
	return Position{File: f.name, Line: at.line, Column: at.column}
}

func (f *fileLoad) report(s Severity, at spot, message, fix string) {
	f.reported++
	if s == Error {
		f.errors++
	}
	switch {
	case f.reported > maxFileProblems:
		return
	case f.reported == maxFileProblems:
		s, at, message, fix = Error, spot{line: at.line, column: at.column}, TooManyProblems, ""
	}
	f.problems = append(f.problems, Problem{
		Severity: s, Pos: f.position(at), Field: at.path.String(), Rule: f.rule, Message: message, Fix: fix,
	})
}

func (f *fileLoad) fail(at spot, message, fix string) { f.report(Error, at, message, fix) }
func (f *fileLoad) warn(at spot, message, fix string) { f.report(Warning, at, message, fix) }

func (f *fileLoad) unsupported(at spot, what string) {
	f.fail(at, what+" is not supported by this version", "")
}

// ignore notes a field that is left out. Each name is reported once a file.
func (f *fileLoad) ignore(name string, at spot) {
	for i := range f.ignored {
		if f.ignored[i].name == name {
			f.ignored[i].count++
			return
		}
	}
	f.ignored = append(f.ignored, ignoredField{name: name, first: at, count: 1})
}

// finish reports what was gathered over the whole file.
func (f *fileLoad) finish() {
	f.rule = ""
	for _, field := range f.ignored {
		message := "Sentinel's bookkeeping; ignored"
		if field.count > 1 {
			message = fmt.Sprintf("%s (%d times in this file)", message, field.count)
		}
		f.warn(field.first, message, "")
	}
}

// load reads one file.
func (f *fileLoad) load(data []byte) {
	root, empty := f.read(data)
	stem, _ := splitName(f.name)
	switch {
	case empty != "":
		f.fail(spot{line: 1, column: 1}, emptyFile(empty), "write [] to remove all its rules")
	case root == nil:
	default:
		if k, ok := kindOfStem(stem); ok {
			f.loadNamed(k, root)
		} else {
			f.loadBundle(root)
		}
	}
}

// read reads a file into nodes, and reports what keeps it from being read and keys that it has twice.
// A file that holds nothing is not reported: empty says how.
func (f *fileLoad) read(data []byte) (root *node, empty string) {
	_, ext := splitName(f.name)
	parse, most := parseJSON, maxJSONBytes
	switch ext {
	case ".json":
	case ".yaml", ".yml":
		parse, most = parseYAML, maxYAMLBytes
	default:
		f.fail(spot{}, "not a rule file by its name", "end it in .json, .yaml or .yml")
		return nil, ""
	}
	if len(data) > most {
		f.fail(spot{}, fmt.Sprintf("is %d bytes long; at most %d are allowed", len(data), most), "split it, in a directory all files count")
		return nil, ""
	}
	if isUTF16(data) {
		f.fail(spot{line: 1, column: 1}, "is UTF-16", "save it as UTF-8")
		return nil, ""
	}
	for bytes.HasPrefix(data, []byte(byteOrderMark)) { // some tools add one to what has one
		data = data[len(byteOrderMark):]
	}
	if !utf8.Valid(data) {
		f.fail(invalidUTF8(data), "a byte that is no UTF-8", "save it as UTF-8")
		return nil, ""
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, "the file is empty"
	}
	t, syntax := parse(data)
	if syntax != nil {
		f.unread = true
		syntax = explained(data, syntax)
		f.fail(spot{line: syntax.line, column: syntax.column}, syntax.message, syntax.fix)
		return nil, ""
	}
	for _, d := range t.duplicates {
		f.duplicate(d)
	}
	if t.root == nil || t.root.kind == nullNode {
		return nil, "the file holds nothing"
	}
	return t.root, ""
}

const byteOrderMark = "\uFEFF"

// isUTF16 tells a file that begins with the mark of UTF-16, or with two characters in it. In UTF-8 a NUL is no
// part of JSON or YAML.
func isUTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) ||
		len(data) >= 4 && (data[0] == 0 && data[1] != 0 && data[2] == 0 || data[0] != 0 && data[1] == 0 && data[3] == 0)
}

func (f *fileLoad) duplicate(d duplicateKey) {
	f.fail(spot{line: d.line, column: d.column}, fmt.Sprintf("duplicate key %q; it is at %d:%d already", clip(d.name), d.firstLine, d.firstColumn), "")
}

func emptyFile(what string) string { return what + `, which is not taken for "no rules"` }

// invalidUTF8 is the place of the first byte that is no UTF-8.
func invalidUTF8(data []byte) spot {
	at := spot{line: 1, column: 1}
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			break
		}
		at.column++
		if r == '\n' {
			at.line, at.column = at.line+1, 1
		}
		data = data[size:]
	}
	return at
}
