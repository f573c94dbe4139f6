package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
)

// printedConfig is a config in the words of the config file.
type printedConfig struct {
	Rules      []string `yaml:"rules"`
	Listen     []string `yaml:"listen"`
	HTTP       string   `yaml:"http"`
	Status     string   `yaml:"status"`
	Admin      string   `yaml:"admin"`
	AdminHosts []string `yaml:"adminHosts,flow"`
	Pprof      bool     `yaml:"pprof"`
	ParamCodes string   `yaml:"paramCodes"`
	Shadow     bool     `yaml:"shadow"`
	Patience   string   `yaml:"envoyTimeout"`
	Log        struct {
		Level  string `yaml:"level"`
		Format string `yaml:"format"`
	} `yaml:"log"`
	Mapping map[string]map[string]string `yaml:"mapping"`
	Block   *printedBlock                `yaml:"blockResponse,omitempty"`
	Limits  struct {
		Waiting      int   `yaml:"waiting"`
		MaxKeys      int   `yaml:"maxKeys"`
		MaxKeysTotal int64 `yaml:"maxKeysTotal"`
		Connections  int   `yaml:"connections"`
		Tokens       int64 `yaml:"tokens"`
	} `yaml:"limits"`
	Outcomes struct {
		Mode       string   `yaml:"mode"`
		ErrorCodes []string `yaml:"errorCodes,flow"`
	} `yaml:"outcomes"`
	SystemStat struct {
		Cgroup string `yaml:"cgroup"`
		Load   bool   `yaml:"load"`
	} `yaml:"systemStat"`
	Socket struct {
		Mode      string   `yaml:"mode"`
		Group     string   `yaml:"group"`
		AllowUIDs []uint32 `yaml:"allowUids,flow"`
		AllowGIDs []uint32 `yaml:"allowGids,flow"`
	} `yaml:"socket"`
	TLS struct {
		Cert string `yaml:"cert"`
		Key  string `yaml:"key"`
		CA   string `yaml:"ca"`
	} `yaml:"tls"`
	AllowPlaintext bool `yaml:"allowPlaintext"`
	Tracing        struct {
		Endpoint string `yaml:"endpoint"`
		Insecure bool   `yaml:"insecure"`
		CA       string `yaml:"ca"`
	} `yaml:"tracing"`
	Drain string `yaml:"drain"`
}

type printedBlock struct {
	ContentType quoted        `yaml:"contentType,omitempty"`
	Body        quoted        `yaml:"body"`
	Headers     yaml.MapSlice `yaml:"headers,omitempty"`
}

// quoted is a text that is printed in quotes, because the encoder knows neither all that is a number,
// such as 1e3, nor all that is not as it was when it is read again, such as a space at the end.
type quoted string

// MarshalYAML returns the text as JSON has it, which YAML reads too.
func (q quoted) MarshalYAML() ([]byte, error) { return json.Marshal(string(q)) }

// print writes c as a config file that leaves nothing to a default, but for the answer to refused
// requests: what is said without a blockResponse no blockResponse can say.
func (c config) print(w io.Writer) error {
	var p printedConfig
	p.Rules, p.Listen, p.HTTP, p.Status = c.Rules, c.Listen, c.HTTP, c.Status
	p.Admin, p.AdminHosts, p.Pprof = c.Admin.Addr, c.Admin.Hosts, c.Admin.Pprof
	p.ParamCodes, p.Shadow, p.Patience = c.ParamCodes.String(), c.Shadow, c.Patience.String()
	p.Log.Level, p.Log.Format = c.LogLevel.String(), c.LogFormat
	p.Mapping = c.Mapping
	if b := c.Block; b != nil {
		p.Block = &printedBlock{ContentType: quoted(b.ContentType), Body: quoted(b.Body)}
		for _, h := range b.Headers {
			p.Block.Headers = append(p.Block.Headers, yaml.MapItem{Key: h.Name, Value: quoted(h.Value)})
		}
	}
	p.Limits.Waiting = c.Limits.Waiting
	p.Limits.MaxKeys, p.Limits.MaxKeysTotal, p.Limits.Connections = c.Limits.MaxKeys, c.Limits.MaxKeysTotal, c.Limits.Connections
	p.Limits.Tokens = c.Limits.Tokens
	p.SystemStat.Cgroup, p.SystemStat.Load = c.SystemStat.Cgroup, c.SystemStat.Load
	p.Outcomes.Mode, p.Outcomes.ErrorCodes = c.Outcomes.Mode, c.Outcomes.Errors.Words()
	p.Socket.Mode, p.Socket.Group = fmt.Sprintf("%04o", c.Socket.Mode), c.Socket.Group
	p.Socket.AllowUIDs, p.Socket.AllowGIDs = c.Socket.Allow.UIDs, c.Socket.Allow.GIDs
	p.TLS.Cert, p.TLS.Key, p.TLS.CA = c.TLS.Cert, c.TLS.Key, c.TLS.CA
	p.AllowPlaintext = c.AllowPlaintext
	p.Tracing.Endpoint, p.Tracing.Insecure, p.Tracing.CA = c.Tracing.Endpoint, c.Tracing.Insecure, c.Tracing.CA
	p.Drain = c.Drain.String()
	text, err := yaml.Marshal(p)
	if err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
	_, err = w.Write(text)
	return err
}
