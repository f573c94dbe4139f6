package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestDescribeBuild(t *testing.T) {
	t.Parallel()
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc123"}, {Key: "vcs.modified", Value: "true"}}
	for _, tc := range []struct {
		name, version string
		info          *debug.BuildInfo
		want          string
	}{
		{"nothing known", "", nil, "sidecard devel, commit unknown, go1."},
		{"a release build", "v1.2.3", &debug.BuildInfo{Main: debug.Module{Version: "v9"}, Settings: settings[:1]}, "sidecard v1.2.3, commit abc123, go1."},
		{"go install", "", &debug.BuildInfo{Main: debug.Module{Version: "v1.0.0"}}, "sidecard v1.0.0, commit unknown, go1."},
		{"a changed tree", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: settings}, "sidecard devel, commit abc123+changes, go1."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := describeBuild(tc.version, tc.info); !strings.HasPrefix(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	code, got, _ := command{t: t, args: []string{"version"}}.run()
	if code != exitOK || !strings.HasPrefix(got, "sidecard ") || strings.Count(got, "\n") != 1 {
		t.Errorf("got exit code %d and %q", code, got)
	}
}
