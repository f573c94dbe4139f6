package main

import (
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
)

// printedConfig is a config in the words of the config file.
type printedConfig struct {
	Rules      []string `yaml:"rules"`
	Listen     []string `yaml:"listen"`
	Status     string   `yaml:"status"`
	ParamCodes string   `yaml:"paramCodes"`
	Shadow     bool     `yaml:"shadow"`
	Log        struct {
		Level  string `yaml:"level"`
		Format string `yaml:"format"`
	} `yaml:"log"`
	Mapping map[string]map[string]string `yaml:"mapping"`
	Limits  struct {
		MaxKeys      int   `yaml:"maxKeys"`
		MaxKeysTotal int64 `yaml:"maxKeysTotal"`
		Connections  int   `yaml:"connections"`
	} `yaml:"limits"`
	Socket struct {
		Mode  string `yaml:"mode"`
		Group string `yaml:"group"`
	} `yaml:"socket"`
	Drain string `yaml:"drain"`
}

// print writes c as a config file that leaves nothing to a default.
func (c config) print(w io.Writer) error {
	var p printedConfig
	p.Rules, p.Listen, p.Status = c.Rules, c.Listen, c.Status
	p.ParamCodes, p.Shadow = c.ParamCodes.String(), c.Shadow
	p.Log.Level, p.Log.Format = c.LogLevel.String(), c.LogFormat
	p.Mapping = c.Mapping
	p.Limits.MaxKeys, p.Limits.MaxKeysTotal, p.Limits.Connections = c.Limits.MaxKeys, c.Limits.MaxKeysTotal, c.Limits.Connections
	p.Socket.Mode, p.Socket.Group = fmt.Sprintf("%04o", c.Socket.Mode), c.Socket.Group
	p.Drain = c.Drain.String()
	text, err := yaml.Marshal(p)
	if err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
	_, err = w.Write(text)
	return err
}
