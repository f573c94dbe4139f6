package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/sidecard/sidecard"

// pkg is what the go tool says about a package.
type pkg struct {
	ImportPath                         string
	Dir                                string
	GoFiles                            []string
	Imports, TestImports, XTestImports []string
	Deps                               []string
}

func TestEveryPackageKeepsToTheTable(t *testing.T) {
	t.Parallel()
	pkgs := list(t)
	if len(pkgs) < 5 {
		t.Fatalf("go list found %d packages, so this test looks at the wrong place", len(pkgs))
	}
	for _, p := range pkgs {
		for _, fault := range faults(p) {
			t.Error(fault)
		}
	}
}

// ARCHITECTURE.md has a row for each row of the table but for those of tests, tools and examples, which share one.
func TestArchitectureNamesThePackages(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table {
		if !r.tests && !within(r.path, "examples") && !strings.Contains(string(page), "\n| `"+strings.TrimSuffix(r.path, "/...")) {
			t.Errorf("%s has no row in ARCHITECTURE.md", r.path)
		}
	}
	folders, err := os.ReadDir("../../test")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if !strings.Contains(string(page), "`test/"+f.Name()+"`") {
			t.Errorf("ARCHITECTURE.md does not name test/%s", f.Name())
		}
	}
}

func TestPurePackagesReadNoClock(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, p := range list(t) {
		r, ok := rowOf(local(p.ImportPath))
		if !ok || !r.pure {
			continue
		}
		for _, name := range p.GoFiles {
			src := filepath.Join(p.Dir, name)
			found, err := readsClock(src, nil)
			if err != nil {
				t.Fatal(err)
			}
			looked++
			for _, at := range found {
				t.Errorf("%s: %s must not read a clock: %s", at, local(p.ImportPath), r.why)
			}
		}
	}
	if looked == 0 {
		t.Fatal("no file of a pure package was looked at")
	}
}

// list returns all packages of this module.
func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports,Deps", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
}

// faults returns what p imports against the table, one line each.
func faults(p pkg) []string {
	self := local(p.ImportPath)
	r, ok := rowOf(self)
	if !ok {
		return []string{fmt.Sprintf("%s is in no row of the import table: add it here and to ARCHITECTURE.md", p.ImportPath)}
	}
	var out []string
	for _, imp := range p.Imports {
		if reason := r.refuses(imp); reason != "" {
			out = append(out, fmt.Sprintf("%s imports %s: %s (%s)", self, imp, reason, r.why))
		}
	}
	for _, imp := range append(p.TestImports, p.XTestImports...) {
		if strings.HasPrefix(local(imp), "cmd/") && local(imp) != self {
			out = append(out, fmt.Sprintf("the tests of %s import %s: commands are not imported", self, imp))
		}
	}
	if !r.pure {
		return out
	}
	for _, dep := range p.Deps {
		for _, m := range unreachable {
			if within(dep, m) {
				out = append(out, fmt.Sprintf("%s reaches %s through its imports (%s)", self, dep, r.why))
			}
		}
	}
	return out
}

// refuses says why a package of row r may not import imp, or nothing if it may.
func (r row) refuses(imp string) string {
	if target := local(imp); target != "" {
		to, ok := rowOf(target)
		switch {
		case strings.HasPrefix(target, "cmd/"):
			return "commands are not imported"
		case ok && to.tests && !r.tests:
			return "it is for tests only"
		}
		for _, may := range r.ours {
			if may == "..." || may == target {
				return ""
			}
		}
		return "not in its row of the import table"
	}
	if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") { // the standard library
		if reason := impure[imp]; r.pure && reason != "" {
			return "a pure package " + reason
		}
		return ""
	}
	for _, m := range r.modules {
		if within(imp, m) {
			return ""
		}
	}
	return "the module is not in its row of the import table"
}

// rowOf finds the row of a package given by its path below the module.
func rowOf(path string) (found row, ok bool) {
	for _, r := range table {
		folder, all := strings.CutSuffix(r.path, "/...")
		if covers := path == folder || all && within(path, folder); covers && len(r.path) > len(found.path) {
			found, ok = r, true
		}
	}
	return found, ok
}

// local returns the path of a package below the module, or nothing for one of another module.
func local(importPath string) string {
	rest, ours := strings.CutPrefix(importPath, module+"/")
	if !ours {
		return ""
	}
	return rest
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// readsClock returns the places of a Go file that use a function of clockReads. src is as for
// parser.ParseFile.
func readsClock(name string, src any) ([]token.Position, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	timeName := ""
	for _, imp := range file.Imports {
		if path, _ := strconv.Unquote(imp.Path.Value); path != "time" {
			continue
		}
		timeName = "time"
		if imp.Name != nil {
			timeName = imp.Name.Name
		}
	}
	var found []token.Position
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && timeName != "" && clockReads[sel.Sel.Name] {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == timeName {
				found = append(found, set.Position(sel.Pos()))
			}
		}
		return true
	})
	return found, nil
}
