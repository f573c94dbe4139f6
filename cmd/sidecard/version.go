package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/sidecard/sidecard/internal/metrics"
)

// version is set by the release build (-ldflags -X main.version=v1.2.3); without it the module
// version or the commit that the Go tool recorded is shown.
var version string

func versionCommand(p process) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go release it was built with",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			_, err := fmt.Fprintln(p.stdout, describeBuild(version, info))
			return err
		},
	}
}

// describeBuild formats one line about the running binary. info may be nil.
func describeBuild(version string, info *debug.BuildInfo) string {
	b := buildOf(version, info)
	return fmt.Sprintf("sidecard %s, commit %s, %s %s/%s", b.Version, b.Revision, b.Go, runtime.GOOS, runtime.GOARCH)
}

// buildOf says what the running binary was built from. info may be nil.
func buildOf(version string, info *debug.BuildInfo) metrics.Build {
	commit, dirty := "unknown", ""
	if info != nil {
		if version == "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "+changes"
			}
		}
	}
	if version == "" || version == "(devel)" {
		version = "devel"
	}
	return metrics.Build{Version: version, Revision: commit + dirty, Go: runtime.Version()}
}
