package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// subject is a server that is measured.
type subject struct {
	name   string
	binary string
	daemon bool // takes the daemon's flags and reads rules; else it is the plain server
	build  string
	grpc   string // version of grpc-go in it
}

func (s subject) args(socket, rules string) []string {
	if s.daemon {
		return []string{"serve", "--rules", rules, "--listen", "unix:" + socket, "--http", "off", "--status", "off", "--admin", "off", "--log-level", "warn"}
	}
	return []string{"-socket", socket}
}

// build returns the two subjects, the one under test first. They must stand on the same grpc-go:
// its versions differ by more than what is measured here.
func build(ctx context.Context, dir string, o options) ([2]subject, error) {
	test := subject{name: filepath.Base(o.sidecard), binary: o.sidecard}
	base := subject{name: filepath.Base(o.base), binary: o.base}
	if test.binary == "" {
		test = subject{name: "sidecard", binary: filepath.Join(dir, "sidecard")}
		if err := goBuild(ctx, o.root, test.binary, "./cmd/sidecard"); err != nil {
			return [2]subject{}, err
		}
	}
	if base.binary == "" {
		base = subject{name: "plain grpc-go", binary: filepath.Join(dir, "floor")}
		if err := goBuild(ctx, filepath.Join(o.root, "bench"), base.binary, "./floor"); err != nil {
			return [2]subject{}, err
		}
	}
	for _, s := range []*subject{&test, &base} {
		if err := s.readBuild(); err != nil {
			return [2]subject{}, err
		}
	}
	if test.grpc != base.grpc {
		return [2]subject{}, fmt.Errorf("grpc-go is %s in %s and %s in %s", test.grpc, test.name, base.grpc, base.name)
	}
	return [2]subject{test, base}, nil
}

// goBuild builds as `make build` does.
func goBuild(ctx context.Context, module, binary, pkg string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-C", module, "-trimpath", "-o", binary, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return nil
}

func (s *subject) readBuild() error {
	info, err := buildinfo.ReadFile(s.binary)
	if err != nil {
		return err
	}
	s.daemon = strings.HasSuffix(info.Path, "/cmd/sidecard")
	s.build = info.GoVersion
	for _, b := range info.Settings {
		switch {
		case b.Key == "vcs.revision":
			s.build += ", commit " + b.Value[:min(12, len(b.Value))]
		case b.Key == "vcs.modified" && b.Value == "true":
			s.build += " with changes"
		}
	}
	for _, d := range info.Deps {
		if d.Path == "google.golang.org/grpc" {
			s.grpc = d.Version
			return nil
		}
	}
	return fmt.Errorf("%s: not built with grpc-go", s.binary)
}
