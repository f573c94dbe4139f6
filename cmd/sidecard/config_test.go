package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/pkg/rule"
)

// command is one run of the program with an environment of its own.
type command struct {
	t    *testing.T
	env  map[string]string
	args []string
}

// run returns the exit code and what was printed.
func (c command) run() (code int, stdout, stderr string) {
	c.t.Helper()
	var out, errs bytes.Buffer
	code = run(process{
		lookup: func(name string) (string, bool) { v, ok := c.env[name]; return v, ok },
		stdout: &out,
		stderr: &errs,
		stop:   context.Background(),
		kill:   context.Background(),
	}, c.args)
	return code, out.String(), errs.String()
}

// write makes a file in a directory of the test and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrintConfigOfADaemonThatWasToldNothing(t *testing.T) {
	t.Parallel()
	code, got, stderr := command{t: t, args: []string{"serve", "--print-config"}}.run()
	if code != exitOK || stderr != "" {
		t.Fatalf("got exit code %d, %q", code, stderr)
	}
	const want = `rules:
- /etc/sidecard/rules
listen:
- unix:/run/sidecard/sidecard.sock
http: unix:/run/sidecard/http.sock
status: tcp:127.0.0.1:9092
admin: tcp:127.0.0.1:9091
adminHosts: []
pprof: false
paramCodes: sentinel
shadow: false
envoyTimeout: 0s
log:
  level: info
  format: json
mapping: {}
limits:
  waiting: 4096
  maxKeys: 67108864
  maxKeysTotal: 4194304
  connections: 1024
  tokens: 1048576
outcomes:
  mode: auto
  errorCodes: [5xx]
systemStat:
  cgroup: ""
  load: false
socket:
  mode: "0660"
  group: ""
  allowUids: []
  allowGids: []
tls:
  cert: ""
  key: ""
  ca: ""
allowPlaintext: false
tracing:
  endpoint: ""
  insecure: false
  ca: ""
drain: 5s
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Every setting is set to one word by each of the ways, all at once or less and less of them.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		key                          string
		inFile, inVariable, asFlag   string
		more                         string // keys that must be set too, to anything or to what is said
		line                         string // of the printed config; %s is the word
		wantFile, wantVar, wantFlags string // where the printed word differs
	}{
		{key: "rules", inFile: "/f", inVariable: "/v,/w", asFlag: "/x", line: "rules:\n- %s\n", wantVar: "/v\n- /w"},
		{key: "listen", inFile: "unix:/f", inVariable: "unix:/v,unix:@w", asFlag: "tcp:127.0.0.1:1", line: "listen:\n- %s\n", wantVar: "unix:/v\n- unix:@w"},
		{key: "http", inFile: "unix:/f", inVariable: "off", asFlag: "tcp:127.0.0.1:1", line: "http: %s\n", wantVar: `"off"`},
		{key: "status", inFile: "unix:/f", inVariable: "off", asFlag: "tcp:0.0.0.0:1", line: "status: %s\n", wantVar: `"off"`},
		{key: "admin", inFile: "unix:/f", inVariable: "off", asFlag: "tcp:127.0.0.1:1", line: "admin: %s\n", wantVar: `"off"`},
		{key: "adminHosts", inFile: "f.example", inVariable: "V.example,w.example", asFlag: "x.example", line: "adminHosts: [%s]\n", wantVar: "v.example, w.example"},
		{key: "pprof", inFile: "true", inVariable: "false", asFlag: "true", line: "pprof: %s\n"},
		{key: "paramCodes", inFile: "url-first", inVariable: "sentinel", asFlag: "url-first", line: "paramCodes: %s\n"},
		{key: "shadow", inFile: "true", inVariable: "false", asFlag: "true", line: "shadow: %s\n"},
		{key: "envoyTimeout", inFile: "1s", inVariable: "250ms", asFlag: "0", line: "envoyTimeout: %s\n", wantFlags: "0s"},
		{key: "log.level", inFile: "warn", inVariable: "error", asFlag: "debug", line: "log:\n  level: %s\n"},
		{key: "log.format", inFile: "console", inVariable: "json", asFlag: "console", line: "  format: %s\n"},
		{key: "limits.waiting", inFile: "40", inVariable: "41", line: "  waiting: %s\n"},
		{key: "limits.maxKeys", inFile: "10", inVariable: "11", line: "  maxKeys: %s\n"},
		{key: "limits.maxKeysTotal", inFile: "20", inVariable: "21", line: "  maxKeysTotal: %s\n"},
		{key: "limits.connections", inFile: "30", inVariable: "31", line: "  connections: %s\n"},
		{key: "socket.mode", inFile: "0600", inVariable: "666", line: "  mode: \"%s\"\n", wantVar: "0666"},
		{key: "socket.group", inFile: "envoy", inVariable: "2000", line: "  group: %s\n", wantVar: `"2000"`},
		{key: "socket.allowUids", inFile: "0", inVariable: "1337,65532", asFlag: "4294967294", line: "  allowUids: [%s]\n", wantVar: "1337, 65532"},
		{key: "socket.allowGids", inFile: "4", inVariable: "5,6", asFlag: "7", line: "  allowGids: [%s]\n", wantVar: "5, 6"},
		{key: "tls.cert", inFile: "/f", inVariable: "/v", asFlag: "/x", more: "tls.key", line: "  cert: %s\n"},
		{key: "tls.key", inFile: "/f", inVariable: "/v", asFlag: "/x", more: "tls.cert", line: "  key: %s\n"},
		{key: "tls.ca", inFile: "/f", inVariable: "/v", asFlag: "/x", more: "tls.cert tls.key", line: "  ca: %s\n"},
		{key: "allowPlaintext", inFile: "true", inVariable: "false", asFlag: "true", line: "allowPlaintext: %s\n"},
		{key: "tracing.endpoint", inFile: "localhost:1", inVariable: "c.example:4317", asFlag: "[::1]:65535", line: "  endpoint: %s\n", wantFlags: `"[::1]:65535"`},
		{key: "tracing.insecure", inFile: "true", inVariable: "false", asFlag: "true", more: "tracing.endpoint=a:1", line: "  insecure: %s\n"},
		{key: "tracing.ca", inFile: "/f", inVariable: "/v", asFlag: "/x", more: "tracing.endpoint=a:1", line: "  ca: %s\n"},
		{key: "limits.tokens", inFile: "1", inVariable: "16777216", line: "  tokens: %s\n"},
		{key: "outcomes.mode", inFile: "always", inVariable: "auto", line: "outcomes:\n  mode: %s\n"},
		{key: "outcomes.errorCodes", inFile: "[503, 429, 502]", inVariable: "5xx,400-499", line: "  errorCodes: %s\n", wantFile: `["429", 502-503]`, wantVar: "[400-599]"},
		{key: "systemStat.cgroup", inFile: "/f", inVariable: "/v", line: "  cgroup: %s\n"},
		{key: "systemStat.load", inFile: "true", inVariable: "false", line: "  load: %s\n"},
		{key: "drain", inFile: "1s", inVariable: "250ms", asFlag: "0", line: "drain: %s\n", wantFlags: "0s"},
	} {
		t.Run(tc.key, func(t *testing.T) {
			t.Parallel()
			s, ok := lookupSetting(tc.key)
			if !ok {
				t.Fatal("no such setting")
			}
			section, name, nested := strings.Cut(tc.key, ".")
			content := fmt.Sprintf("%s: %s\n", section, tc.inFile)
			if nested {
				content = fmt.Sprintf("%s:\n  %s: %s\n", section, name, tc.inFile)
			}
			c := command{t: t, args: []string{"serve", "--print-config", "--config", write(t, "c.yaml", content)}}
			for key := range strings.FieldsSeq(tc.more) {
				key, word, given := strings.Cut(key, "=")
				if !given {
					word = "/more"
				}
				more, _ := lookupSetting(key)
				c.args = append(c.args, "--"+more.flag+"="+word)
			}
			printed := func(way, word, other string) {
				t.Helper()
				if other != "" {
					word = other
				}
				code, got, stderr := c.run()
				if want := fmt.Sprintf(tc.line, word); code != exitOK || !strings.Contains(got, want) {
					t.Errorf("by %s: got exit code %d, %q and\n%swant %q in it", way, code, stderr, got, want)
				}
			}
			printed("the file", tc.inFile, tc.wantFile)
			c.env = map[string]string{s.variable(): tc.inVariable}
			printed("the variable", tc.inVariable, tc.wantVar)
			if (s.flag == "") != (tc.asFlag == "") {
				t.Fatalf("the flag is %q and the test sets it to %q", s.flag, tc.asFlag)
			}
			if s.flag != "" {
				c.args = append(c.args, "--"+s.flag+"="+tc.asFlag)
				printed("the flag", tc.asFlag, tc.wantFlags)
			}
			c.env[s.variable()] = "" // set to nothing is not set
			if s.flag == "" {
				printed("the file, the variable being empty", tc.inFile, tc.wantFile)
			}
		})
	}
}

func TestEverySettingHasAPrecedenceCase(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("config_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings() {
		if !bytes.Contains(source, fmt.Appendf(nil, "{key: %q,", s.key)) {
			t.Errorf("no case for %s", s.key)
		}
	}
}

func TestVariableNames(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"rules":               "SIDECARD_RULES",
		"paramCodes":          "SIDECARD_PARAM_CODES",
		"log.level":           "SIDECARD_LOG_LEVEL",
		"limits.maxKeysTotal": "SIDECARD_LIMITS_MAX_KEYS_TOTAL",
	} {
		if got := (setting{key: key}).variable(); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
}

// What is printed is a config file that leads to the same configuration.
func TestPrintedConfigIsAConfigFile(t *testing.T) {
	t.Parallel()
	file := write(t, "c.yaml", `
rules: [/a, "/b c"]
listen: [unix:/x.sock, "unix:@y", off]
status: off
paramCodes: url-first
shadow: true
envoyTimeout: 250ms
log: {level: debug, format: console}
mapping: {shop: {user: header.x-user-id, "a:b": query.q}, other: {}}
blockResponse:
  contentType: text/html; charset=utf-8
  body: "<p title='{rule}: x'>\n\té {reason} # & *a \\ {{retry_after}}\n\n  </p> "
  headers: {x-z: "yes", x-a: "{retry_after}: # 'x'", X-B: "007"}
limits: {waiting: 6, maxKeys: 7, maxKeysTotal: 8, connections: 9, tokens: 10}
outcomes: {mode: always, errorCodes: [5xx, 429, 400-404]}
systemStat: {cgroup: "/sys/fs/cgroup/a b", load: true}
socket: {mode: 0600, group: "0", allowUids: [3, 1], allowGids: [7]}
tls: {cert: /c, key: "/k d", ca: /a}
allowPlaintext: true
tracing: {endpoint: "localhost:4317", insecure: true}
drain: 1m30s
`)
	_, first, stderr := command{t: t, args: []string{"serve", "--print-config", "--config", file}}.run()
	if stderr != "" {
		t.Fatal(stderr)
	}
	_, second, stderr := command{t: t, args: []string{"serve", "--print-config", "--config", write(t, "d.yaml", first)}}.run()
	if stderr != "" {
		t.Fatalf("%s in\n%s", stderr, first)
	}
	if first != second || !strings.Contains(first, "drain: 1m30s") {
		t.Errorf("printed\n%sand, read again,\n%s", first, second)
	}
}

// The daemon that is started from the printed file answers refused requests in the same words.
func TestPrintedBlockResponseIsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := defaults()
		c.Block = &rule.BlockResponse{
			ContentType: rapid.SampledFrom([]string{"text/plain", "text/html; charset=utf-8"}).Draw(t, "contentType"),
			Body:        rapid.OneOf(rapid.String().Filter(func(s string) bool { return !strings.Contains(s, "{") }), rapid.StringMatching(`[ \t\n#:'"\\&*{}|>-]{0,9}`)).Draw(t, "body"),
			Headers: []rule.HeaderField{
				{Name: "x-z", Value: rapid.StringMatching(`[!-~]([ -~]{0,9}[!-~])?`).Draw(t, "header")},
				{Name: "x-a", Value: rapid.SampledFrom([]string{"null", "007", "~", "1e3", "true", "{rule}", "2024-01-01"}).Draw(t, "scalar")},
			},
		}
		var printed bytes.Buffer
		if err := c.print(&printed); err != nil {
			t.Fatal(err)
		}
		read := defaults()
		if errs := parseConfigFile("c.yaml", printed.Bytes(), settings(), &read); len(errs) > 0 {
			t.Fatalf("%v in\n%s", errs, &printed)
		}
		if !reflect.DeepEqual(read.Block, c.Block) {
			t.Errorf("got %+v, want %+v, printed\n%s", read.Block, c.Block, &printed)
		}
	})
}

func TestUnknownVariablesAreIgnored(t *testing.T) {
	t.Parallel()
	code, _, stderr := command{t: t, env: map[string]string{"SIDECARD_PORT": "tcp://10.0.0.1:80", "SIDECARD_ADMINS": "x"},
		args: []string{"serve", "--print-config"}}.run()
	if code != exitOK {
		t.Errorf("got exit code %d and %q", code, stderr)
	}
}

func TestBadConfigFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, content string
		want          []string // lines, FILE being the file
	}{
		{"an unknown key", "rule: /x\n", []string{`FILE:1:1: rule: unknown key; did you mean rules?`}},
		{"an unknown key of another case", "paramcodes: sentinel\n", []string{`FILE:1:1: paramcodes: unknown key; did you mean paramCodes?`}},
		{"an unknown key in a section", "log:\n  lvel: info\n", []string{`FILE:2:3: log.lvel: unknown key; did you mean level?`}},
		{"a key like nothing", "zzzzzzzz: 1\n", []string{`FILE:1:1: zzzzzzzz: unknown key`}},
		{"names of hosts", "adminHosts: [shop.internal, 'shop:80']\n", []string{
			`FILE:1:29: adminHosts: "shop:80" is not the name of a host, without port`,
		}},
		{"outcomes", "outcomes:\n  mode: never\n  errorCodes: [5xx, 500-599,\n    teapot, 504-500]\n", []string{
			`FILE:2:9: outcomes.mode: "never" is none of auto, always`,
			`FILE:4:5: outcomes.errorCodes: "teapot" is neither a status code from 100 to 999, nor a range such as 500-504, nor a class such as 5xx`,
		}},
		{"a range of codes that ends before it begins", "outcomes: {errorCodes: 504-500}\n", []string{
			`FILE:1:24: outcomes.errorCodes: "504-500" is a range that ends before it begins; write 500-504`,
		}},
		{"an address for all", "drain: 1s\nlisten: [unix:/x, tcp:0.0.0.0:1]\n", []string{
			`FILE:2:9: listen: address "tcp:0.0.0.0:1": other hosts could reach it, with neither encryption nor authentication; write tcp:127.0.0.1:1 or a unix: address; or serve it with TLS (--tls-cert, --tls-key), or allow it with --allow-plaintext`,
		}},
		{"TLS by half", "tls: {key: /k, ca: /c}\n", []string{`FILE:1:12: tls.key: there is no tls.cert that it is the key of`}},
		{"users by name", "socket:\n  allowUids: [0, envoy]\n  allowGids: -1\n", []string{
			`FILE:2:18: socket.allowUids: "envoy" is not the number of a user or group, from 0 to 4294967294`,
			`FILE:3:14: socket.allowGids: "-1" is not the number of a user or group, from 0 to 4294967294`,
		}},
		{"all errors at once", "drain: 5\nshadow: maybe\nlog: {level: loud, format: xml}\nlimits: {maxKeys: 0, maxKeysTotal: -1, waiting: 0}\nsocket: {mode: 888}\nparamCodes: java\n", []string{
			`FILE:1:8: drain: "5" is not a duration with its unit, such as 5s or 500ms`,
			`FILE:2:9: shadow: "maybe" is neither true nor false`,
			`FILE:3:14: log.level: "loud" is none of debug, info, warn, error`,
			`FILE:3:28: log.format: "xml" is none of json, console`,
			`FILE:4:19: limits.maxKeys: "0" is not a whole number from 1 to 67108864`,
			`FILE:4:36: limits.maxKeysTotal: "-1" is not a whole number from 1 to 1099511627776`,
			`FILE:4:49: limits.waiting: "0" is not a whole number from 1 to 1048576`,
			`FILE:5:16: socket.mode: "888" is not an octal permission such as 0660`,
			`FILE:6:13: paramCodes: "java" is none of sentinel, url-first`,
		}},
		{"a list where one value goes", "status: [off]\n", []string{`FILE:1:9: status: takes one value, not a list`}},
		{"a mapping where a value goes", "drain:\n  s: 5\n", []string{`FILE:2:3: drain: takes a plain value`}},
		{"a value where a section goes", "log: debug\n", []string{`FILE:1:6: log: holds further keys, not a value`}},
		{"a key without value", "drain:\n", []string{`FILE:1:1: drain: has no value`}},
		{"no rules", "rules: []\n", []string{`FILE:1:8: rules: no path; name at least one file or directory`}},
		{"nothing to serve", "listen: [off]\n", []string{`FILE:1:9: listen: every address is off, so nothing would be served`}},
		{"a nested list", "rules: [[x]]\n", []string{`FILE:1:9: rules: each item must be one plain value`}},
		{"mapping of a wrong shape", "mapping: {shop: header.x, other: {user: [a]}}\n", []string{
			`FILE:1:17: mapping.shop: must be a mapping of descriptor keys to attributes`,
			`FILE:1:41: mapping.other.user: must name an attribute, such as header.x-user-id`,
		}},
		{"mapping to what is no attribute", "mapping: {shop: {a: haeder.x-u, b: header., c: HEADER.x-u, d: x-u, e: x.y, f: sidecard.tokn}}\n", []string{
			`FILE:1:21: mapping.shop.a: "haeder.x-u" is no attribute: a name with a dot begins with that of a kind: header, query, cookie or arg; did you mean header.x-u?`,
			`FILE:1:36: mapping.shop.b: "header." is no attribute: it lacks the name after the dot`,
			`FILE:1:48: mapping.shop.c: "HEADER.x-u" is no attribute: a name with a dot begins with that of a kind: header, query, cookie or arg; did you mean header.x-u?`,
			`FILE:1:71: mapping.shop.e: "x.y" is no attribute: a name with a dot begins with that of a kind: header, query, cookie or arg`,
			`FILE:1:79: mapping.shop.f: "sidecard.tokn" is no attribute: a name with a dot begins with that of a kind: header, query, cookie or arg; did you mean sidecard.token?`,
		}},
		{"mapping that is a list", "mapping: [a]\n", []string{`FILE:1:10: mapping: must be a mapping of domains to {descriptorKey: attribute}`}},
		{"a block response that is wrong", "blockResponse:\n  body: '{rul}'\n  headers: {content-length: 3}\n", []string{
			`FILE:2:9: blockResponse.body: unknown placeholder {rul}; did you mean "rule"?; fix: write { rul } if it is meant as it stands`,
			`FILE:3:13: blockResponse.headers: "content-length" says how the message is sent, which only the proxy knows; fix: remove it`,
		}},
		{"a block response of nothing", "blockResponse:\n", []string{`FILE:1:1: blockResponse: has no value`}},
		{"not a mapping", "- rules\n", []string{`FILE:1:1: a config file is a mapping of keys to values`}},
		{"the same key twice", "drain: 5s\ndrain: 6s\n", []string{`FILE:2:1: mapping key "drain" already defined at [1:1]`}},
		{"broken YAML", "rules: [a\n", []string{`FILE:1:8: `}},
		{"two documents", "drain: 5s\n---\ndrain: 6s\n", []string{`FILE:3:1: a second document; a config file is one document`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := write(t, "c.yaml", tc.content)
			code, stdout, stderr := command{t: t, args: []string{"serve", "--print-config", "--config", file}}.run()
			if code != exitUsage || stdout != "" {
				t.Errorf("got exit code %d and %q", code, stdout)
			}
			rest := strings.TrimSuffix(strings.TrimPrefix(stderr, "sidecard serve: "), "\n")
			got := strings.Split(strings.ReplaceAll(rest, file, "FILE"), "\n")
			for i, want := range tc.want {
				if i >= len(got) || got[i] != want && !(strings.HasSuffix(want, ": ") && strings.HasPrefix(got[i], want)) {
					t.Errorf("line %d: want %q in\n%s", i, want, stderr)
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("got %d lines, want %d:\n%s", len(got), len(tc.want), stderr)
			}
		})
	}
}

// What is odd in a config file is said, on standard error as the log is, and does not keep it from
// being used.
func TestWarningsOfTheConfigFile(t *testing.T) {
	t.Parallel()
	file := write(t, "c.yaml", "blockResponse: {contentType: application/json, body: '{\"rule\": {rule}}'}\n")
	code, stdout, stderr := command{t: t, args: []string{"serve", "--print-config", "--config", file}}.run()
	if code != exitOK || !strings.Contains(stdout, `body: "{\"rule\": {rule}}"`) {
		t.Errorf("got exit code %d and\n%s", code, stdout)
	}
	if want := file + ":1:54: warning: blockResponse.body: is not JSON, as contentType says; "; !strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("got %q, want %q…", stderr, want)
	}
}

func TestEmptyConfigFilesSetNothing(t *testing.T) {
	t.Parallel()
	_, want, _ := command{t: t, args: []string{"serve", "--print-config"}}.run()
	for _, content := range []string{"", "\n", "# nothing\n", "log:\n", "---\n"} {
		code, got, stderr := command{t: t, env: map[string]string{configVariable: write(t, "c.yaml", content)},
			args: []string{"serve", "--print-config"}}.run()
		if code != exitOK || got != want {
			t.Errorf("%q: got exit code %d, %q and\n%s", content, code, stderr, got)
		}
	}
}

func TestBadCommandLines(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{"an unknown flag", nil, []string{"serve", "--lisen", "x"}, "sidecard serve: unknown flag: --lisen; did you mean --listen?\n"},
		{"an admin address for all", nil, []string{"serve", "--admin", "tcp:0.0.0.0:9091"}, "sidecard serve: --admin: address \"tcp:0.0.0.0:9091\": other hosts could reach it, with neither encryption nor authentication; write tcp:127.0.0.1:9091"},
		{"an HTTP address for all", nil, []string{"serve", "--http", "tcp:0.0.0.0:80"}, "sidecard serve: --http: address \"tcp:0.0.0.0:80\": other hosts could reach it, with neither encryption nor authentication; write tcp:127.0.0.1:80"},
		{"an unknown command", nil, []string{"serv"}, "unknown command \"serv\" for \"sidecard\""},
		{"an argument", nil, []string{"serve", "x"}, "unknown command \"x\" for \"sidecard serve\""},
		{"check without a path", nil, []string{"check"}, "sidecard check: requires at least 1 arg(s)"},
		{"a bad form", nil, []string{"check", "-o", "xml", "x"}, "sidecard check: --output: \"xml\" is neither text nor json\n"},
		{"a bad address", nil, []string{"serve", "--listen", "/x.sock"}, "sidecard serve: --listen: address \"/x.sock\": write unix:/x.sock\n"},
		{"a bad flag", nil, []string{"serve", "--drain", "soon"}, "sidecard serve: --drain: \"soon\" is not a duration"},
		{"a bad variable", map[string]string{"SIDECARD_LOG_LEVEL": "loud"}, []string{"serve"}, "sidecard serve: SIDECARD_LOG_LEVEL: \"loud\" is none of debug, info, warn, error\n"},
		{"a bad switch", map[string]string{"SIDECARD_SHADOW": "maybe"}, []string{"serve"}, "SIDECARD_SHADOW: \"maybe\" is neither true nor false\n"},
		{"a bad variable under a good flag", map[string]string{"SIDECARD_DRAIN": "x"}, []string{"serve", "--drain", "1s"}, "SIDECARD_DRAIN: \"x\" is not a duration"},
		{"a config file that is not there", nil, []string{"serve", "--config", "/nonexistent/c.yaml"}, "sidecard serve: config file: open /nonexistent/c.yaml: no such file or directory\n"},
		{"an address twice", nil, []string{"serve", "--listen", "unix:/x", "--listen", "unix:///x"}, "sidecard serve: --listen: address \"unix:///x\" is given twice\n"},
		{"an address for all", nil, []string{"serve", "--print-config", "--listen", "tcp::9090"}, "sidecard serve: --listen: address \"tcp::9090\": other hosts could reach it, with neither encryption nor authentication; write tcp:127.0.0.1:9090 or a unix: address; or serve it with TLS (--tls-cert, --tls-key), or allow it with --allow-plaintext\n"},
		{"the same by variable", map[string]string{"SIDECARD_LISTEN": "unix:/x,tcp:0.0.0.0:1"}, []string{"serve", "--print-config"}, "sidecard serve: SIDECARD_LISTEN: address \"tcp:0.0.0.0:1\": other hosts could reach it, with neither encryption nor authentication; write tcp:127.0.0.1:1 or a unix: address; or serve it with TLS (--tls-cert, --tls-key), or allow it with --allow-plaintext\n"},
		{"a certificate without a key", map[string]string{"SIDECARD_TLS_CERT": "/c"}, []string{"serve", "--print-config"}, "sidecard serve: SIDECARD_TLS_CERT: there is no tls.key to it\n"},
		{"a key without a certificate", nil, []string{"serve", "--print-config", "--tls-key", "/k"}, "sidecard serve: --tls-key: there is no tls.cert that it is the key of\n"},
		{"no port of a collector", nil, []string{"serve", "--print-config", "--tracing-endpoint", "localhost"}, "sidecard serve: --tracing-endpoint: \"localhost\" is not an endpoint such as localhost:4317: address localhost: missing port in address\n"},
		{"no host of a collector", nil, []string{"serve", "--print-config", "--tracing-endpoint", ":4317"}, "sidecard serve: --tracing-endpoint: \":4317\" is not an endpoint such as localhost:4317: it has no host\n"},
		{"a name for a port", nil, []string{"serve", "--print-config", "--tracing-endpoint", "a:otlp"}, "sidecard serve: --tracing-endpoint: \"a:otlp\" is not an endpoint such as localhost:4317: its port is none from 1 to 65535\n"},
		{"plain to no collector", nil, []string{"serve", "--print-config", "--tracing-insecure"}, "sidecard serve: --tracing-insecure: there is no tracing.endpoint that it is about\n"},
		{"plain and with authorities", nil, []string{"serve", "--print-config", "--tracing-insecure", "--tracing-endpoint=a:1", "--tracing-ca=/a"}, "sidecard serve: --tracing-ca: authorities have no effect with tracing.insecure; leave one of the two out\n"},
		{"authorities without a certificate", nil, []string{"serve", "--print-config", "--tls-ca", "/k"}, "sidecard serve: --tls-ca: there is no tls.cert to serve TLS with\n"},
		{"a client's certificate without its key", nil, []string{"healthcheck", "--addr", "tcp:127.0.0.1:1", "--tls-cert", "/k"}, "sidecard healthcheck: a certificate and its key belong together: one of them is missing\n"},
		{"a drain below nothing", nil, []string{"serve", "--drain", "-5s"}, "sidecard serve: --drain: \"-5s\" is below 0; 0s waits for nothing\n"},
		{"a bad variable of another command", map[string]string{"SIDECARD_LISTEN": "bogus"}, []string{"healthcheck"}, "sidecard healthcheck: SIDECARD_LISTEN: address \"bogus\": write unix:"},
		{"a bad address under a good variable", map[string]string{"SIDECARD_LISTEN": "unix:/x"}, []string{"healthcheck", "--addr", "bogus"}, "sidecard healthcheck: --addr: address \"bogus\": write unix:"},
		{"an address that is off", nil, []string{"healthcheck", "--addr", "off"}, "sidecard healthcheck: --addr: off is no address to ask\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := command{t: t, env: tc.env, args: tc.args}.run()
			if code != exitUsage || stdout != "" || !strings.Contains(stderr, tc.want) {
				t.Errorf("got exit code %d, %q and %q, want %q", code, stdout, stderr, tc.want)
			}
		})
	}
}

func FuzzConfigFile(f *testing.F) {
	f.Add([]byte("rules: [a]\nlog: {level: info}\nmapping: {a: {b: c}}\n"))
	f.Add([]byte("a: &x [*x]\n? [b]\n: - <<: *x\n"))
	f.Add([]byte("- \n--- \n...\n%YAML 1.2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := defaults()
		parseConfigFile("c.yaml", data, settings(), &c) // whatever it says, it returns
	})
}
