package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func serveCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long: `Run the daemon: answer Envoy's rate limit calls by the rules in PATH, and follow their
changes. Every flag also has a variable and a key of the config file; see
docs/configuration.md.`,
		Args: cobra.NoArgs,
	}
	file := cmd.Flags().String("config", "", "config `file`; the default is what SIDECARD_CONFIG names, else none")
	d := defaults()
	fallbacks := map[string]string{
		"rules": defaultRules, "listen": defaultListen, "http": defaultHTTP, "status": defaultStatus, "admin": d.Admin.Addr, "paramCodes": d.ParamCodes.String(),
		"log.level": d.LogLevel.String(), "log.format": d.LogFormat, "drain": d.Drain.String(), "envoyTimeout": d.Patience.String(),
	}
	for _, s := range settings() {
		if s.flag != "" {
			addFlag(cmd, s, fallbacks[s.key])
		}
	}
	printOnly := cmd.Flags().Bool("print-config", false, "print the configuration in effect and exit")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := loadConfig(p, cmd.Flags(), *file)
		if err != nil {
			return err
		}
		if *printOnly {
			for _, w := range cfg.Warnings {
				fmt.Fprintln(p.stderr, w)
			}
			return cfg.print(p.stdout)
		}
		return serve(p, cfg)
	}
	return cmd
}
