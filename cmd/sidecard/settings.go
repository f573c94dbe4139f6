package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/internal/certs"
	"github.com/sidecard/sidecard/internal/listen"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// config is everything that an operator can set, in the form the daemon uses it. Its YAML form is
// the config file with nothing left out.
type config struct {
	Rules      []string
	Listen     []string // valid addresses, at least one of them not "off"
	HTTP       string   // a valid address
	Status     string   // a valid address
	Admin      adminConfig
	ParamCodes rule.ParamCodes
	Shadow     bool
	Patience   time.Duration // of Envoy's filter; 0: not known
	LogLevel   zerolog.Level
	LogFormat  string
	Mapping    map[string]map[string]string // domain, descriptor key, attribute
	Block      *rule.BlockResponse          // of rules that have none; nil: a JSON body
	Limits     struct {
		Waiting      int
		MaxKeys      int
		MaxKeysTotal int64
		Connections  int
		Tokens       int64
	}
	Outcomes   outcomesConfig
	SystemStat systemStatConfig
	Socket     struct {
		Mode  os.FileMode
		Group string
		Allow listen.Allow
	}
	TLS            certs.Files // of TCP addresses for decisions; without a Cert they are plain
	AllowPlaintext bool        // also where other hosts can reach them
	Tracing        tracingConfig
	Drain          time.Duration

	Warnings rule.Problems     // what is odd in the config file, but usable
	sources  map[string]string // where settings were made, by key, as errors say it
}

const (
	defaultRules  = "/etc/sidecard/rules"
	defaultListen = "unix:/run/sidecard/sidecard.sock"
	defaultHTTP   = "unix:/run/sidecard/http.sock"
	defaultStatus = "tcp:127.0.0.1:9092"
)

// defaults returns the configuration of a daemon that was told nothing.
func defaults() config {
	var c config
	c.Rules = []string{defaultRules}
	c.Listen = []string{defaultListen}
	c.HTTP = defaultHTTP
	c.Status = defaultStatus
	c.Admin.Addr = defaultAdmin
	c.LogLevel = zerolog.InfoLevel
	c.LogFormat = "json"
	c.Limits.Waiting = calls.DefaultMaxWaiting
	c.Limits.MaxKeys = 1 << 26 // more than a rule file can ask for
	c.Limits.MaxKeysTotal = engine.DefaultMaxKeysTotal
	c.Limits.Connections = 1024 // an Envoy has one or two for each of its worker threads
	c.Limits.Tokens = engine.DefaultMaxTokens
	c.Outcomes = defaultOutcomes()
	c.Socket.Mode = 0o660
	c.Drain = 5 * time.Second
	return c
}

// setting is one thing that can be set, by whichever way: the flag, the variable and the key of
// the config file take the same words and get the same errors.
type setting struct {
	key   string // in the config file; a dot enters a section
	flag  string // empty: variable and config file only
	value string // what the help calls the value; empty for a switch
	usage string
	list  bool // may be given several times; a later way replaces the whole list
	set   func(c *config, values []string) error
}

// variable returns the name of the environment variable of s.
func (s setting) variable() string {
	var b strings.Builder
	b.WriteString("SIDECARD_")
	for _, r := range s.key {
		switch {
		case r == '.':
			b.WriteByte('_')
		case 'A' <= r && r <= 'Z':
			b.WriteByte('_')
			b.WriteRune(r)
		default:
			b.WriteString(strings.ToUpper(string(r)))
		}
	}
	return b.String()
}

// settings returns the table of everything that can be set with plain values, in the order of the
// documentation.
func settings() []setting {
	return append([]setting{
		{key: "rules", flag: "rules", value: "PATH", list: true, usage: "rule file or directory; may be repeated",
			set: func(c *config, v []string) error { c.Rules = v; return oneOrMore(v) }},
		{key: "listen", flag: "listen", value: "ADDR", list: true, usage: "gRPC address: unix:/path.sock, unix:@name or tcp:host:port; may be repeated",
			set: func(c *config, v []string) error { c.Listen = v; return listenAddresses(v) }},
		{key: "http", flag: "http", value: "ADDR", usage: "address of the local API over HTTP and JSON, or off",
			set: func(c *config, v []string) error {
				c.HTTP = v[0]
				_, err := listen.Parse(v[0])
				return err
			}},
		{key: "status", flag: "status", value: "ADDR", usage: "address of /metrics, /livez and /readyz, or off",
			set: func(c *config, v []string) error {
				c.Status = v[0]
				_, err := listen.Parse(v[0])
				return err
			}},
		{key: "paramCodes", flag: "param-codes", value: "TABLE", usage: "what the numbers of parseStrategy mean: sentinel or url-first",
			set: func(c *config, v []string) error { return setParamCodes(&c.ParamCodes, v[0]) }},
		{key: "shadow", flag: "shadow", usage: "let every rule count and report, and none refuse",
			set: func(c *config, v []string) error { return setBool(&c.Shadow, v[0]) }},
		{key: "envoyTimeout", flag: "envoy-timeout", value: "DURATION", usage: "timeout of Envoy's rate limit filter, beyond which no rule should make calls wait; 0 is not known",
			set: func(c *config, v []string) error { return setDuration(&c.Patience, v[0]) }},
		{key: "log.level", flag: "log-level", value: "LEVEL", usage: "least level that is logged: debug, info, warn or error",
			set: func(c *config, v []string) error { return setLevel(&c.LogLevel, v[0]) }},
		{key: "log.format", flag: "log-format", value: "FORMAT", usage: "form of the log on standard error: json or console",
			set: func(c *config, v []string) error { return setWord(&c.LogFormat, v[0], "json", "console") }},
		{key: "limits.waiting", usage: "most calls that queueing rules may make wait at a time",
			set: func(c *config, v []string) error { return setInt(&c.Limits.Waiting, v[0], 1<<20) }},
		{key: "limits.maxKeys", usage: "most parameter values that one rule may track, whatever it says",
			set: func(c *config, v []string) error { return setInt(&c.Limits.MaxKeys, v[0], 1<<26) }},
		{key: "limits.maxKeysTotal", usage: "most parameter values that all rules track together",
			set: func(c *config, v []string) error { return setCount(&c.Limits.MaxKeysTotal, v[0], 1<<40) }},
		{key: "limits.connections", usage: "most connections that may be open to the gRPC addresses together, to the HTTP address and to the status address",
			set: func(c *config, v []string) error { return setInt(&c.Limits.Connections, v[0], 1<<20) }},
		{key: "drain", flag: "drain", value: "DURATION", usage: "longest time to keep serving connections that are open when told to stop",
			set: func(c *config, v []string) error { return setDuration(&c.Drain, v[0]) }},
	}, slices.Concat(adminSettings(), accessSettings(), tlsSettings(), outcomeSettings(), systemStatSettings(), tracingSettings())...)
}

// lookupSetting returns the setting of that key.
func lookupSetting(key string) (setting, bool) {
	for _, s := range settings() {
		if s.key == key {
			return s, true
		}
	}
	return setting{}, false
}

// ruleOptions returns how rule files are read.
func (c config) ruleOptions() rule.Options {
	o := rule.Options{ParamCodes: c.ParamCodes, Shadow: c.Shadow}
	if c.Patience > 0 {
		o.MaxWait = max(c.Patience-calls.AnswerTime, 1)
	}
	return o
}

func oneOrMore(values []string) error {
	for _, v := range values {
		if v == "" {
			return fmt.Errorf("an empty path; name a file or a directory")
		}
	}
	if len(values) == 0 {
		return fmt.Errorf("no path; name at least one file or directory")
	}
	return nil
}

// listenAddresses checks the form of the addresses, that decisions are served at all, and that none is
// served twice. Whether an address can be bound is known only when it is.
func listenAddresses(values []string) error {
	open := make(map[listen.Addr]bool)
	for _, v := range values {
		a, err := listen.Parse(v)
		if err != nil {
			return err
		}
		if open[a] {
			return fmt.Errorf("address %q is given twice", v)
		}
		if !a.Off() {
			open[a] = true
		}
	}
	if len(open) == 0 {
		return fmt.Errorf("every address is off, so nothing would be served")
	}
	return nil
}

func setBool(into *bool, v string) error {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", v)
	}
	*into = b
	return nil
}

func setWord(into *string, v string, words ...string) error {
	for _, w := range words {
		if v == w {
			*into = v
			return nil
		}
	}
	return fmt.Errorf("%q is none of %s", v, strings.Join(words, ", "))
}

func setParamCodes(into *rule.ParamCodes, v string) error {
	for _, c := range []rule.ParamCodes{rule.ParamCodesSentinel, rule.ParamCodesURLFirst} {
		if c.String() == v {
			*into = c
			return nil
		}
	}
	return fmt.Errorf("%q is none of %s, %s", v, rule.ParamCodesSentinel, rule.ParamCodesURLFirst)
}

func setLevel(into *zerolog.Level, v string) error {
	var word string
	if err := setWord(&word, v, "debug", "info", "warn", "error"); err != nil {
		return err
	}
	var err error
	*into, err = zerolog.ParseLevel(word)
	return err
}

func setCount(into *int64, v string, most int64) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 1 || n > most {
		return fmt.Errorf("%q is not a whole number from 1 to %d", v, most)
	}
	*into = n
	return nil
}

func setInt(into *int, v string, most int) error {
	n := int64(*into)
	err := setCount(&n, v, int64(most))
	*into = int(n)
	return err
}

func setMode(into *os.FileMode, v string) error {
	n, err := strconv.ParseUint(strings.TrimPrefix(v, "0o"), 8, 32)
	if err != nil || n > 0o777 {
		return fmt.Errorf("%q is not an octal permission such as 0660", v)
	}
	*into = os.FileMode(n)
	return nil
}

func setDuration(into *time.Duration, v string) error {
	d, err := time.ParseDuration(v)
	if err != nil {
		return fmt.Errorf("%q is not a duration with its unit, such as 5s or 500ms", v)
	}
	if d < 0 {
		return fmt.Errorf("%q is below 0; 0s waits for nothing", v)
	}
	*into = d
	return nil
}
