package ruleswatch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sidecard/sidecard/internal/testkit/configmap"
	"github.com/sidecard/sidecard/pkg/rule"
)

func TestReadDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, data := range map[string]string{
		"b.yaml": "b", "a.json": "a", "c.yml": "c",
		".hidden.yaml": "x", "..data_old.yaml": "x", "README.md": "x", "d.yaml~": "x", "e.json.swp": "x", "yaml": "x",
	} {
		put(t, filepath.Join(dir, name), data)
	}
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	put(t, filepath.Join(dir, "sub", "deep.yaml"), "x")
	d := Read(dir)
	wantContents(t, d, map[string]string{"a.json": "a", "b.yaml": "b", "c.yml": "c"})
	for i, name := range []string{"a.json", "b.yaml", "c.yml"} {
		if want := filepath.Join(dir, name); d.Files[i].Name != want {
			t.Errorf("file %d: got %q, want %q", i, d.Files[i].Name, want)
		}
	}
	if d.Source != dir {
		t.Errorf("source: got %q, want %q", d.Source, dir)
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	put(t, path, "- a\n")
	d := Read(path)
	wantContents(t, d, map[string]string{"rules.yaml": "- a\n"})
	if d.Files[0].Name != path || d.Source != path {
		t.Errorf("got file %q of source %q, want %q for both", d.Files[0].Name, d.Source, path)
	}
}

// Names in documents are those that the user wrote, whatever links lie behind them.
func TestReadKeepsNames(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	must(t, configmap.Write(filepath.Join(parent, "volume"), map[string][]byte{"a.yaml": []byte("a")}))
	link := filepath.Join(parent, "link")
	must(t, os.Symlink("volume", link))
	d := Read(link)
	wantContents(t, d, map[string]string{"a.yaml": "a"})
	if want := filepath.Join(link, "a.yaml"); d.Files[0].Name != want {
		t.Errorf("got %q, want %q", d.Files[0].Name, want)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make func(t *testing.T, dir string)
		path string   // below dir; "" is dir itself
		want []string // each in the error
		is   error
	}{
		"missing path":        {path: "missing", want: []string{"missing: no such file"}, is: fs.ErrNotExist},
		"path below a file":   {make: func(t *testing.T, dir string) { put(t, dir+"/f", "x") }, path: "f/g", want: []string{"f/g: not a directory"}},
		"no rule file":        {make: func(t *testing.T, dir string) { put(t, dir+"/README.md", "x") }, want: []string{"holds no rule file"}},
		"empty directory":     {want: []string{"holds no rule file"}},
		"empty file":          {make: func(t *testing.T, dir string) { put(t, dir+"/a.yaml", "") }, path: "a.yaml", want: []string{"a.yaml: is empty (0 bytes)"}},
		"empty file in dir":   {make: func(t *testing.T, dir string) { put(t, dir+"/a.yaml", ""); put(t, dir+"/b.yaml", "[]") }, want: []string{"a.yaml: is empty (0 bytes)"}},
		"null":                {make: func(t *testing.T, dir string) { put(t, dir+"/a.json", "null") }, want: []string{"a.json: holds nothing but"}},
		"comments only":       {make: func(t *testing.T, dir string) { put(t, dir+"/a.yaml", "\ufeff# gone\n---\n~ # none\n") }, want: []string{"a.yaml: holds nothing but"}},
		"directory as a file": {make: func(t *testing.T, dir string) { must(t, os.Mkdir(dir+"/a.yaml", 0o755)) }, want: []string{"a.yaml: is a directory and not a regular file"}},
		"pipe":                {make: func(t *testing.T, dir string) { must(t, unix.Mkfifo(dir+"/a.yaml", 0o644)) }, want: []string{"a.yaml: is a named pipe"}},
		"pipe as path":        {make: func(t *testing.T, dir string) { must(t, unix.Mkfifo(dir+"/a.yaml", 0o644)) }, path: "a.yaml", want: []string{"a.yaml: is a named pipe"}},
		"link to a device":    {make: func(t *testing.T, dir string) { must(t, os.Symlink("/dev/zero", dir+"/a.yaml")) }, want: []string{"a.yaml: is a device"}},
		"link to nothing":     {make: func(t *testing.T, dir string) { must(t, os.Symlink("gone", dir+"/a.yaml")) }, want: []string{"a.yaml: a symbolic link to nothing"}},
		"link to itself":      {make: func(t *testing.T, dir string) { must(t, os.Symlink("a.yaml", dir+"/a.yaml")) }, want: []string{"a.yaml: too many levels of symbolic links"}},
		"volume of nothing":   {make: func(t *testing.T, dir string) { must(t, os.Symlink("..gone", dir+"/..data")) }, want: []string{"..data: no such file"}},
		"too large": {make: func(t *testing.T, dir string) {
			put(t, dir+"/a.yaml", "- a\n")
			put(t, dir+"/b.yaml", "- a\n")
			must(t, os.Truncate(dir+"/b.yaml", maxBytes-3))
		}, want: []string{"b.yaml: the rule files of one path together must not exceed 16 MiB"}},
		"too many": {make: func(t *testing.T, dir string) {
			for i := range maxFiles + 1 {
				put(t, fmt.Sprintf("%s/%d.yaml", dir, i), "[]")
			}
		}, want: []string{"holds more than 4096 rule files"}},
		"all errors at once": {make: func(t *testing.T, dir string) {
			put(t, dir+"/a.yaml", "")
			put(t, dir+"/b.yaml", "- b\n")
			must(t, os.Mkdir(dir+"/c.yaml", 0o755))
		}, want: []string{"a.yaml: is empty", "c.yaml: is a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.make != nil {
				tt.make(t, dir)
			}
			d := Read(filepath.Join(dir, tt.path))
			if d.Err == nil {
				t.Fatalf("got %v and no error", contents(d))
			}
			for _, want := range tt.want {
				if !strings.Contains(d.Err.Error(), want) {
					t.Errorf("got %q, want %q in it", d.Err, want)
				}
			}
			if tt.is != nil && !errors.Is(d.Err, tt.is) {
				t.Errorf("%v is not %v", d.Err, tt.is)
			}
			if again := Read(filepath.Join(dir, tt.path)); !again.same(d) {
				t.Errorf("read again: %v, want the same as before: %v", again.Err, d.Err)
			}
		})
	}
}

func TestReadSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "rw") // socket paths must be short
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	ln, err := net.Listen("unix", filepath.Join(dir, "a.yaml"))
	must(t, err)
	defer ln.Close()
	if d := Read(dir); d.Err == nil || !strings.Contains(d.Err.Error(), "a.yaml: is a socket") {
		t.Errorf("got %v", d.Err)
	}
}

// What may be taken for rules although it looks like little.
func TestReadSmallFiles(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"[]", "{}", " [] # none\n", "nullable: 1\n", "- null\n", "a: '#'\n", "0", `[{"resource":"a#b"}]`} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		put(t, path, data)
		if d := Read(path); d.Err != nil {
			t.Errorf("%q: %v", data, d.Err)
		}
	}
}

// The readable files come along with an error, for those who show all there is to say.
func TestReadErrorKeepsTheOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir+"/a.yaml", "- a\n")
	put(t, dir+"/b.yaml", "")
	d := Read(dir)
	if d.Err == nil || contents(d)["a.yaml"] != "- a\n" {
		t.Errorf("got %v, %v", contents(d), d.Err)
	}
}

// After every step of every update a reading is one version, whole.
func TestReadVolumeAtEveryStep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	versions := []map[string][]byte{
		{"a.yaml": []byte("1"), "b.yaml": []byte("1")},
		{"a.yaml": []byte("2"), "b.yaml": []byte("2")},
		{"a.yaml": []byte("3"), "b.yaml": []byte("3"), "c.yaml": []byte("3")}, // new key
		{"c.yaml": []byte("4")},                                               // keys removed
		{"a.yaml": []byte("5"), "sub/x": []byte("5")},                         // another key only
		{"a.yaml": []byte("6"), "sub.yaml": []byte("")},                       // not to be applied
		{"a.yaml": []byte("7")},
	}
	for i, v := range versions {
		err := configmap.WriteStepwise(dir, v, func(step int) {
			want := v
			if step < configmap.StepSwap {
				if i == 0 {
					return
				}
				want = versions[i-1]
			}
			d := Read(dir)
			rules := make(map[string]string)
			for name, data := range want {
				if isRuleFile(name) {
					rules[name] = string(data)
				}
			}
			if _, bad := rules["sub.yaml"]; bad {
				if d.Err == nil {
					t.Errorf("version %d, step %d: the empty file was taken", i, step)
				}
				return
			}
			wantContents(t, d, rules)
		})
		must(t, err)
	}
}

// Readers beside a writer that swaps without a pause: each reading is one version, whole.
func TestReadNeverMixesVersions(t *testing.T) {
	t.Parallel()
	const swaps = 100
	dir := t.TempDir()
	version := func(i int) map[string][]byte {
		m := make(map[string][]byte)
		for f := range 5 + i%3 {
			m[fmt.Sprintf("f%d.yaml", f)] = fmt.Appendf(nil, "%d", i)
		}
		return m
	}
	must(t, configmap.Write(dir, version(0)))
	written := make(chan error, 1)
	go func() {
		for i := range swaps {
			if err := configmap.Write(dir, version(i+1)); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	readings := 0
	for {
		select {
		case err := <-written:
			must(t, err)
			if readings == 0 {
				t.Error("nothing was read beside the writer")
			}
			wantContents(t, Read(dir), contentsOf(version(swaps)))
			return
		default:
		}
		d := Read(dir)
		if errors.Is(d.Err, errChanged) {
			continue // said, not guessed: the writer was faster than every attempt
		}
		readings++
		if d.Err != nil {
			t.Fatal(d.Err)
		}
		var i int
		if _, err := fmt.Sscan(string(d.Files[0].Data), &i); err != nil {
			t.Fatal(err)
		}
		wantContents(t, d, contentsOf(version(i)))
		if t.Failed() {
			return
		}
	}
}

// The same for a link to a directory that is pointed elsewhere.
func TestReadNeverMixesLinkedDirectories(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	link := filepath.Join(parent, "current")
	for _, v := range []string{"v0", "v1"} {
		must(t, os.Mkdir(filepath.Join(parent, v), 0o755))
		for f := range 6 {
			put(t, fmt.Sprintf("%s/%s/f%d.yaml", parent, v, f), v)
		}
	}
	must(t, os.Symlink("v0", link))
	swapped := make(chan error, 1)
	go func() {
		for i := range 1000 {
			if err := errors.Join(os.Symlink(fmt.Sprintf("v%d", (i+1)%2), link+".new"), os.Rename(link+".new", link)); err != nil {
				swapped <- err
				return
			}
		}
		swapped <- nil
	}()
	for {
		select {
		case err := <-swapped:
			must(t, err)
			return
		default:
		}
		d := Read(link)
		if errors.Is(d.Err, errChanged) {
			continue
		}
		if d.Err != nil {
			t.Fatal(d.Err)
		}
		for _, f := range d.Files {
			if string(f.Data) != string(d.Files[0].Data) {
				t.Fatalf("mixed: %v", contents(d))
			}
		}
	}
}

func contentsOf(files map[string][]byte) map[string]string {
	m := make(map[string]string, len(files))
	for name, data := range files {
		m[name] = string(data)
	}
	return m
}

func FuzzNothing(f *testing.F) {
	for _, s := range []string{"", "null", "~", "---\n...", "[]", "# x", "\ufeff", "a: #\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		refused := nothing(rule.File{Name: "f", Data: data}) != nil
		// Whatever holds a bracket, a brace or a dash before any comment holds something.
		first, _, _ := strings.Cut(string(data), "#")
		if refused && strings.ContainsAny(first, "[{") {
			t.Errorf("%q was taken for nothing", data)
		}
		if !refused && strings.Trim(string(data), " \t\r\n") == "" {
			t.Errorf("%q was taken for something", data)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for name, files := range map[string]map[string][]byte{
		"volume of 2 files": {"a.yaml": bytes.Repeat([]byte("- a\n"), 1000), "b.yaml": bytes.Repeat([]byte("- b\n"), 1000)},
		"volume of 1 MiB":   {"a.yaml": bytes.Repeat([]byte("- a\n"), 1<<18)},
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			if err := configmap.Write(dir, files); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if d := Read(dir); d.Err != nil {
					b.Fatal(d.Err)
				}
			}
		})
	}
}
