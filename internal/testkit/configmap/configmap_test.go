package configmap

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func files(pairs ...string) map[string][]byte {
	m := make(map[string][]byte)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = []byte(pairs[i+1])
	}
	return m
}

// names returns what lies at the top of the volume, the version's directory as "..version".
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var ns []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), "..2") {
			ns = append(ns, "..version")
			continue
		}
		ns = append(ns, e.Name())
	}
	slices.Sort(ns)
	return ns
}

func content(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "volume")
	write := func(f map[string][]byte) (steps []int) {
		t.Helper()
		if err := WriteStepwise(dir, f, func(step int) { steps = append(steps, step) }); err != nil {
			t.Fatal(err)
		}
		return steps
	}

	if got, want := write(files("a.yaml", "1", "b.yaml", "1", "sub/c", "1")), []int{5, 6, 7, 8, 9, 10, 11}; !slices.Equal(got, want) {
		t.Errorf("first write: steps %v, want %v", got, want)
	}
	if got, want := names(t, dir), []string{"..data", "..version", "a.yaml", "b.yaml", "sub"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for link, want := range map[string]string{"a.yaml": "..data/a.yaml", "sub": "..data/sub"} {
		if got, err := os.Readlink(filepath.Join(dir, link)); err != nil || got != want {
			t.Errorf("%s -> %q, %v, want %q", link, got, err, want)
		}
	}
	first, err := os.Readlink(filepath.Join(dir, "..data"))
	if err != nil || filepath.IsAbs(first) {
		t.Fatalf("..data -> %q, %v, want a relative link", first, err)
	}

	if got := write(files("a.yaml", "1", "b.yaml", "1", "sub/c", "1")); got != nil {
		t.Errorf("unchanged: steps %v, want none", got)
	}
	if same, _ := os.Readlink(filepath.Join(dir, "..data")); same != first {
		t.Errorf("unchanged: version %q, want %q", same, first)
	}

	if got, want := write(files("b.yaml", "2", "d.yaml", "2")), []int{5, 6, 7, 8, 9, 10, 11, 12}; !slices.Equal(got, want) {
		t.Errorf("second write: steps %v, want %v", got, want)
	}
	if got, want := names(t, dir), []string{"..data", "..version", "b.yaml", "d.yaml"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if b, d := content(t, dir, "b.yaml"), content(t, dir, "d.yaml"); b != "2" || d != "2" {
		t.Errorf("got %q and %q, want 2 and 2", b, d)
	}
	if _, err := os.Lstat(filepath.Join(dir, first)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old version is still there: %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, "b.yaml"))
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v, want 0644", info.Mode(), err)
	}
}

// Readers find the old content until the swap and the new one from then on.
func TestWriteSwapsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := Write(dir, files("a", "old", "b", "old")); err != nil {
		t.Fatal(err)
	}
	err := WriteStepwise(dir, files("a", "new", "b", "new"), func(step int) {
		want := "old"
		if step >= StepSwap {
			want = "new"
		}
		if a, b := content(t, dir, "a"), content(t, dir, "b"); a != want || b != want {
			t.Errorf("after step %d: %q and %q, want %q", step, a, b, want)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWriteRefusesNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "/abs", "../up", "..hidden", "a/../../b", "a/..", strings.Repeat("n", 256)} {
		if err := Write(t.TempDir(), files(name, "x")); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}
