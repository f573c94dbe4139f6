package ruleswatch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sidecard/sidecard/internal/testkit/configmap"
	"github.com/sidecard/sidecard/pkg/rule"
)

func TestReadSkips(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"gw-flow-rules", "shop-FLOW-RULES.txt", "degrade-rules.json5", "a.JSON", "b.Yaml", "README.md", ".gw-flow-rules", "gw-flow-rules~"} {
		put(t, filepath.Join(dir, name), "x")
	}
	must(t, os.Mkdir(filepath.Join(dir, "system-rules"), 0o755))
	must(t, os.Symlink("nothing", filepath.Join(dir, "param-rules")))
	must(t, os.Symlink("README.md", filepath.Join(dir, "param-flow-rules")))
	d := Read(dir)
	wantContents(t, d, map[string]string{"a.JSON": "x", "b.Yaml": "x"})
	var want []string
	for _, name := range []string{"degrade-rules.json5", "gw-flow-rules", "param-flow-rules", "shop-FLOW-RULES.txt"} {
		want = append(want, filepath.Join(dir, name))
	}
	if !slices.Equal(d.Skipped, want) {
		t.Errorf("got %v, want %v", d.Skipped, want)
	}
	must(t, os.Remove(filepath.Join(dir, "gw-flow-rules")))
	if Read(dir).same(d) {
		t.Error("with one skipped file less it is the same document")
	}
}

func TestReadSkipsInAVolume(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "volume")
	must(t, configmap.Write(dir, map[string][]byte{"gw-flow-rules": []byte("x")}))
	d := Read(dir)
	if want := []string{filepath.Join(dir, "gw-flow-rules")}; d.Err == nil || !slices.Equal(d.Skipped, want) {
		t.Errorf("got %v and %v, want an error and %v", d.Err, d.Skipped, want)
	}
}

func TestReadSkipsAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range maxSkipped + 5 {
		put(t, filepath.Join(dir, fmt.Sprintf("%d-flow-rules", i)), "x")
	}
	if d := Read(dir); len(d.Skipped) != maxSkipped {
		t.Errorf("got %d, want %d", len(d.Skipped), maxSkipped)
	}
}

// A skipped file is named once for as long as it is there.
func TestSkippedFilesAreLoggedOnce(t *testing.T) {
	t.Parallel()
	run(t, 1, func(b *bench) {
		for i, step := range []struct {
			skipped []string
			want    int
		}{
			{[]string{"flow-rules"}, 1}, {[]string{"flow-rules"}, 1}, {[]string{"flow-rules", "param-rules"}, 2}, {nil, 2}, {[]string{"flow-rules"}, 3},
		} {
			data := fmt.Sprint(i)
			b.sources[0].docs <- Document{Source: "s", Files: []rule.File{{Name: "a", Data: []byte(data)}}, Skipped: step.skipped}
			synctest.Wait()
			if got := strings.Count(b.log.String(), "named like a rule file and not read"); got != step.want {
				t.Errorf("after step %d: %d lines, want %d in\n%s", i, got, step.want, b.log)
			}
		}
	})
}
