package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// suite is what the files of one directory say about goroutines, whatever their build tags.
type suite struct {
	tests  bool   // there are tests
	starts string // where a goroutine is started; empty: nowhere
	checks bool   // a test file looks for leaks
}

// A suite that starts goroutines, in its tests or in what they test, looks at its end whether one is left.
func TestSuitesThatStartGoroutinesLookForLeaks(t *testing.T) {
	t.Parallel()
	suites := make(map[string]suite)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 2 && d.Name()[0] == '.'):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		s := suites[filepath.Dir(path)]
		err = s.read(path, nil)
		suites[filepath.Dir(path)] = s
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, dir := range slices.Sorted(maps.Keys(suites)) {
		s := suites[dir]
		if s.tests && s.starts != "" {
			looked++
			if !s.checks {
				t.Errorf("%s: goroutines are started (%s): add a TestMain with goleak.VerifyTestMain", dir, s.starts)
			}
		}
	}
	if looked < 10 {
		t.Errorf("%d suites start goroutines, so this test looks at the wrong place", looked)
	}
}

// read adds a file; src is as parser.ParseFile takes it.
func (s *suite) read(path string, src any) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	test := strings.HasSuffix(path, "_test.go")
	s.tests = s.tests || test
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		s.checks = s.checks || err == nil && test && name == "go.uber.org/goleak"
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			s.starts = files.Position(n.Pos()).String()
		case *ast.CallExpr:
			// WaitGroup.Go and its like, and servers of tests.
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Go", "NewServer", "NewTLSServer"}, f.Sel.Name) {
				s.starts = files.Position(n.Pos()).String()
			}
		}
		return true
	})
	return nil
}

func TestGoroutinesAreFound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file, src string
		want            suite
	}{
		{"nothing", "x.go", "", suite{}},
		{"a test without any", "x_test.go", "func f() { g() }", suite{tests: true}},
		{"a go statement", "x.go", "func f() { go g() }", suite{starts: "x.go:2:12"}},
		{"a wait group's", "x_test.go", "func f() { w.Go(g) }", suite{tests: true, starts: "x_test.go:2:12"}},
		{"goleak in a test", "x_test.go", `import "go.uber.org/goleak"`, suite{tests: true, checks: true}},
		{"goleak elsewhere", "x.go", `import "go.uber.org/goleak"`, suite{}},
	} {
		var got suite
		if err := got.read(tc.file, "package x\n"+tc.src); err != nil || got != tc.want {
			t.Errorf("%s: got %+v, %v, want %+v", tc.name, got, err, tc.want)
		}
	}
}
