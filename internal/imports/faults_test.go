package imports

import (
	"strings"
	"testing"
)

func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, path string
		imports    []string
		tests      []string
		deps       []string
		want       string // part of the only fault; empty: none
	}{
		{name: "what the row names", path: "pkg/engine", imports: []string{module + "/pkg/rule", "sync"}},
		{name: "an unlisted package of ours", path: "pkg/rule", imports: []string{module + "/pkg/window"}, want: "not in its row"},
		{name: "an upward arrow", path: "pkg/ruleswatch", imports: []string{module + "/pkg/engine"}, want: "engine is not known here"},
		{name: "a module that another row has", path: "pkg/window", imports: []string{zerologModule}, want: "the module is not in its row"},
		{name: "a module whose name only begins alike", path: "pkg/ruleswatch", imports: []string{zerologModule + "x"}, want: "the module is not in its row"},
		{name: "a module reached through another", path: "pkg/engine", deps: []string{"google.golang.org/grpc/codes"}, want: "through its imports"},
		{name: "input and output in a pure package", path: "pkg/engine/attr", imports: []string{"net/http"}, want: "does no I/O"},
		{name: "the test kit in the product", path: "cmd/sidecard", imports: []string{module + "/internal/testkit/window"}, want: "for tests only"},
		{name: "the test kit in a test", path: "pkg/window", tests: []string{module + "/internal/testkit/window"}},
		{name: "the test kit in the demo", path: "test/demo", imports: []string{module + "/internal/testkit/envoytest"}},
		{name: "a command", path: "internal/testkit/x", imports: []string{module + "/cmd/sidecard"}, want: "commands are not imported"},
		{name: "a command in a test", path: "pkg/rule", tests: []string{module + "/cmd/sidecard"}, want: "commands are not imported"},
		{name: "a package nobody decided about", path: "pkg/util", want: "in no row"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := faults(pkg{ImportPath: module + "/" + tc.path, Imports: tc.imports, TestImports: tc.tests, Deps: tc.deps})
			switch {
			case tc.want == "" && len(got) > 0:
				t.Errorf("got %q, want none", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("got %q, want one that says %q", got, tc.want)
			}
		})
	}
}

func TestClockReadsAreFound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, src string
		want      int
	}{
		{"none", "import \"time\"\nvar d = time.Second", 0},
		{"now", "import \"time\"\nvar t = time.Now()", 1},
		{"as a value", "import \"time\"\nvar f = time.Since", 1},
		{"under another name", "import clock \"time\"\nvar t = clock.Now()", 1},
		{"a field of that name", "var x struct{ Now int }\nvar y = x.Now", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := readsClock("x.go", "package x\n"+tc.src)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != tc.want {
				t.Errorf("got %v, want %d", got, tc.want)
			}
		})
	}
}
