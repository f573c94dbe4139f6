package ruleswatch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/internal/testkit/configmap"
)

// Each change below is made in a real directory and must be seen through notifications alone.

func TestFileSourceConfigMap(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "volume")
	write := func(files map[string][]byte) {
		t.Helper()
		must(t, configmap.Write(dir, files))
	}
	version := func(i int) map[string][]byte {
		return map[string][]byte{"a.yaml": fmt.Appendf(nil, "- a%d\n", i), "b.yaml": fmt.Appendf(nil, "- b%d\n", i)}
	}
	write(version(0))
	o := observe(t, dir)
	o.wantNext(contentsOf(version(0)))
	for i := 1; i <= 10; i++ { // each swap is reported exactly once, and never a mix
		write(version(i))
		o.wantNext(contentsOf(version(i)))
		write(version(i)) // the kubelet's resync of an unchanged ConfigMap
	}
	grown := version(10)
	grown["c.yaml"] = []byte("- c\n")
	write(grown)
	o.wantNext(contentsOf(grown))
	write(map[string][]byte{"c.yaml": []byte("- c\n")})
	o.wantNext(map[string]string{"c.yaml": "- c\n"})
	write(map[string][]byte{"c.yaml": nil})
	if d := o.next(); d.Err == nil || !strings.Contains(d.Err.Error(), "c.yaml: is empty") {
		t.Errorf("got %+v", d)
	}
	write(map[string][]byte{"README.md": []byte("no rules")})
	if d := o.next(); d.Err == nil || !strings.Contains(d.Err.Error(), "holds no rule file") {
		t.Errorf("got %+v", d)
	}
	write(version(11))
	o.wantNext(contentsOf(version(11)))
	if rest := o.stop(); len(rest) != 0 {
		t.Errorf("reported besides: %+v", rest)
	}
}

// Swaps without a pause are not all reported, but the last one is, and no report is a mix.
func TestFileSourceConfigMapStorm(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "volume")
	version := func(i int) map[string][]byte {
		return map[string][]byte{"a.yaml": fmt.Appendf(nil, "- %d\n", i), "b.yaml": fmt.Appendf(nil, "- %d\n", i)}
	}
	must(t, configmap.Write(dir, version(0)))
	o := observe(t, dir)
	for i := 1; i <= 100; i++ {
		must(t, configmap.Write(dir, version(i)))
	}
	o.until("the last version", func(d Document) bool {
		if d.Err != nil {
			t.Error(d.Err)
			return false
		}
		c := contents(d)
		if c["a.yaml"] != c["b.yaml"] {
			t.Errorf("mixed: %v", c)
		}
		return c["a.yaml"] == "- 100\n"
	})
	if rest := o.stop(); len(rest) != 0 {
		t.Errorf("reported besides: %+v", rest)
	}
}

func TestFileSourceWriters(t *testing.T) {
	t.Parallel()
	after := map[string]string{"a.yaml": "- new\n", "b.yaml": "- b\n"}
	for name, tt := range map[string]struct {
		write func(t *testing.T, dir, path string)
		want  map[string]string
		err   string
	}{
		"rename over":    {write: func(t *testing.T, _, path string) { replace(t, path, "- new\n") }, want: after},
		"in-place write": {write: func(t *testing.T, _, path string) { put(t, path, "- new\n") }, want: after},
		"append": {write: func(t *testing.T, _, path string) {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString("- more\n")
			must(t, err)
			must(t, f.Close())
		}, want: map[string]string{"a.yaml": "- a\n- more\n", "b.yaml": "- b\n"}},
		"editor save": {write: func(t *testing.T, dir, path string) { // as vim: swap file, backup, new file, backup removed
			put(t, filepath.Join(dir, ".a.yaml.swp"), "x")
			put(t, filepath.Join(dir, "4913"), "")
			must(t, os.Remove(filepath.Join(dir, "4913")))
			must(t, os.Rename(path, path+"~"))
			put(t, path, "- new\n")
			must(t, os.Remove(path+"~"))
			must(t, os.Remove(filepath.Join(dir, ".a.yaml.swp")))
		}, want: after},
		"delete and create": {write: func(t *testing.T, _, path string) {
			must(t, os.Remove(path))
			put(t, path, "- new\n")
		}, want: after},
		"moved in": {write: func(t *testing.T, dir, _ string) {
			other := filepath.Join(t.TempDir(), "c.yaml")
			put(t, other, "- c\n")
			must(t, os.Rename(other, filepath.Join(dir, "c.yaml")))
		}, want: map[string]string{"a.yaml": "- a\n", "b.yaml": "- b\n", "c.yaml": "- c\n"}},
		"moved out": {write: func(t *testing.T, _, path string) {
			must(t, os.Rename(path, filepath.Join(t.TempDir(), "a.yaml")))
		}, want: map[string]string{"b.yaml": "- b\n"}},
		"one of several deleted": {write: func(t *testing.T, _, path string) { must(t, os.Remove(path)) }, want: map[string]string{"b.yaml": "- b\n"}},
		"truncated":              {write: func(t *testing.T, _, path string) { must(t, os.Truncate(path, 0)) }, err: "a.yaml: is empty"},
		"emptied to null":        {write: func(t *testing.T, _, path string) { put(t, path, "null\n") }, err: "a.yaml: holds nothing but"},
		"all deleted": {write: func(t *testing.T, dir, path string) {
			must(t, os.Remove(path))
			must(t, os.Remove(filepath.Join(dir, "b.yaml")))
		}, err: "holds no rule file"},
		"directory deleted": {write: func(t *testing.T, dir, _ string) { must(t, os.RemoveAll(dir)) }, err: "rules: no such file"},
		"directory renamed": {write: func(t *testing.T, dir, _ string) { must(t, os.Rename(dir, dir+".old")) }, err: "rules: no such file"},
		"directory replaced": {write: func(t *testing.T, dir, _ string) {
			must(t, os.Mkdir(dir+".new", 0o755))
			put(t, filepath.Join(dir+".new", "n.yaml"), "- n\n")
			must(t, os.Rename(dir, dir+".old"))
			must(t, os.Rename(dir+".new", dir))
		}, want: map[string]string{"n.yaml": "- n\n"}},
		"became a file": {write: func(t *testing.T, dir, _ string) {
			must(t, os.RemoveAll(dir))
			put(t, dir, "- f\n")
		}, want: map[string]string{"rules": "- f\n"}},
		"became a directory": {write: func(t *testing.T, dir, path string) {
			must(t, os.Remove(path))
			must(t, os.Mkdir(path, 0o755))
		}, err: "a.yaml: is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "rules")
			restore := func() {
				must(t, os.RemoveAll(dir))
				must(t, os.Mkdir(dir, 0o755))
				put(t, filepath.Join(dir, "a.yaml"), "- a\n")
				put(t, filepath.Join(dir, "b.yaml"), "- b\n")
			}
			restore()
			o := observe(t, dir)
			o.wantNext(map[string]string{"a.yaml": "- a\n", "b.yaml": "- b\n"})
			tt.write(t, dir, filepath.Join(dir, "a.yaml"))
			if tt.err != "" {
				o.until(tt.err, func(d Document) bool { return d.Err != nil && strings.Contains(d.Err.Error(), tt.err) })
			} else {
				o.untilContents(tt.want)
			}
			// Whatever was done, the watch has survived it.
			restore()
			o.untilContents(map[string]string{"a.yaml": "- a\n", "b.yaml": "- b\n"})
			replace(t, filepath.Join(dir, "b.yaml"), "- again\n")
			o.untilContents(map[string]string{"a.yaml": "- a\n", "b.yaml": "- again\n"})
		})
	}
}

func TestFileSourceSingleFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "rules.yaml")
	o := observe(t, path)
	if err := o.untilError(); !strings.Contains(err.Error(), "rules.yaml: no such file") {
		t.Errorf("got %v", err)
	}
	put(t, filepath.Join(dir, "other.yaml"), "- other\n") // of no concern
	for _, data := range []string{"- 1\n", "- 2\n", "- 3\n"} {
		replace(t, path, data)
		o.untilContents(map[string]string{"rules.yaml": data})
		put(t, path, data+data)
		o.untilContents(map[string]string{"rules.yaml": data + data})
		must(t, os.Remove(path))
		o.untilError()
	}
	// The folder goes and comes back, too.
	sub := filepath.Join(dir, "sub")
	below := observe(t, filepath.Join(sub, "deep", "rules.yaml"))
	below.untilError()
	for range 3 {
		must(t, os.MkdirAll(filepath.Join(sub, "deep"), 0o755))
		put(t, filepath.Join(sub, "deep", "rules.yaml"), "- deep\n")
		below.untilContents(map[string]string{"rules.yaml": "- deep\n"})
		must(t, os.RemoveAll(sub))
		below.untilError()
	}
}

func TestFileSourceLinks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// prepare makes the links and returns the path to watch; content is what it then reads. Each
		// step of change must show the content that it returns.
		prepare func(t *testing.T, dir string) (path string, content map[string]string)
		change  []func(t *testing.T, dir string) map[string]string
	}{
		"ln -sfn of the path": {
			prepare: func(t *testing.T, dir string) (string, map[string]string) {
				point(t, dir, "current", "v1")
				return "current", map[string]string{"a.yaml": "- v1\n"}
			},
			change: []func(t *testing.T, dir string) map[string]string{
				func(t *testing.T, dir string) map[string]string {
					point(t, dir, "current", "v2")
					return map[string]string{"a.yaml": "- v2\n"}
				},
				func(t *testing.T, dir string) map[string]string { // what it points to is watched
					replace(t, filepath.Join(dir, "v2", "a.yaml"), "- v2, changed\n")
					return map[string]string{"a.yaml": "- v2, changed\n"}
				},
				func(t *testing.T, dir string) map[string]string { // and no longer what it pointed to
					replace(t, filepath.Join(dir, "v1", "a.yaml"), "- v1, changed\n")
					point(t, dir, "current", "v1")
					return map[string]string{"a.yaml": "- v1, changed\n"}
				},
			},
		},
		"ln -sfn of a parent": {
			prepare: func(t *testing.T, dir string) (string, map[string]string) {
				for _, v := range []string{"v1", "v2"} {
					must(t, os.MkdirAll(filepath.Join(dir, v, "config", "rules"), 0o755))
					put(t, filepath.Join(dir, v, "config", "rules", "deep.yaml"), "- deep "+v+"\n")
				}
				point(t, dir, "current", "v1")
				return "current/config/rules", map[string]string{"deep.yaml": "- deep v1\n"}
			},
			change: []func(t *testing.T, dir string) map[string]string{
				func(t *testing.T, dir string) map[string]string {
					point(t, dir, "current", "v2")
					return map[string]string{"deep.yaml": "- deep v2\n"}
				},
				func(t *testing.T, dir string) map[string]string {
					point(t, dir, "current", filepath.Join(dir, "v1")) // absolute
					return map[string]string{"deep.yaml": "- deep v1\n"}
				},
			},
		},
		"a chain of links": {
			prepare: func(t *testing.T, dir string) (string, map[string]string) {
				must(t, os.Mkdir(filepath.Join(dir, "links"), 0o755))
				point(t, filepath.Join(dir, "links"), "second", "../v1")
				point(t, dir, "first", "links/second")
				return "first", map[string]string{"a.yaml": "- v1\n"}
			},
			change: []func(t *testing.T, dir string) map[string]string{
				func(t *testing.T, dir string) map[string]string {
					point(t, filepath.Join(dir, "links"), "second", "../v2")
					return map[string]string{"a.yaml": "- v2\n"}
				},
			},
		},
		"a linked file in the directory": {
			prepare: func(t *testing.T, dir string) (string, map[string]string) {
				must(t, os.Mkdir(filepath.Join(dir, "rules"), 0o755))
				point(t, filepath.Join(dir, "rules"), "linked.yaml", "../v1/a.yaml")
				return "rules", map[string]string{"linked.yaml": "- v1\n"}
			},
			change: []func(t *testing.T, dir string) map[string]string{
				func(t *testing.T, dir string) map[string]string {
					replace(t, filepath.Join(dir, "v1", "a.yaml"), "- target changed\n")
					return map[string]string{"linked.yaml": "- target changed\n"}
				},
				func(t *testing.T, dir string) map[string]string {
					point(t, filepath.Join(dir, "rules"), "linked.yaml", "../v2/a.yaml")
					return map[string]string{"linked.yaml": "- v2\n"}
				},
			},
		},
		"a linked file as the path": {
			prepare: func(t *testing.T, dir string) (string, map[string]string) {
				point(t, dir, "rules.yaml", "v1/a.yaml")
				return "rules.yaml", map[string]string{"rules.yaml": "- v1\n"}
			},
			change: []func(t *testing.T, dir string) map[string]string{
				func(t *testing.T, dir string) map[string]string {
					put(t, filepath.Join(dir, "v1", "a.yaml"), "- in place\n")
					return map[string]string{"rules.yaml": "- in place\n"}
				},
				func(t *testing.T, dir string) map[string]string {
					point(t, dir, "rules.yaml", "v2/a.yaml")
					return map[string]string{"rules.yaml": "- v2\n"}
				},
			},
		},
		"a file of a volume, written through its link": {
			prepare: func(t *testing.T, dir string) (string, map[string]string) {
				must(t, configmap.Write(filepath.Join(dir, "volume"), map[string][]byte{"a.yaml": []byte("- 1\n")}))
				return "volume", map[string]string{"a.yaml": "- 1\n"}
			},
			change: []func(t *testing.T, dir string) map[string]string{
				func(t *testing.T, dir string) map[string]string {
					put(t, filepath.Join(dir, "volume", "a.yaml"), "- by hand\n")
					return map[string]string{"a.yaml": "- by hand\n"}
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, v := range []string{"v1", "v2"} {
				must(t, os.Mkdir(filepath.Join(dir, v), 0o755))
				put(t, filepath.Join(dir, v, "a.yaml"), "- "+v+"\n")
			}
			path, content := tt.prepare(t, dir)
			o := observe(t, filepath.Join(dir, path))
			o.wantNext(content)
			for _, change := range tt.change {
				o.untilContents(change(t, dir))
			}
		})
	}
}

// point makes name in dir a link to target, at once, as ln -sfn does.
func point(t *testing.T, dir, name, target string) {
	t.Helper()
	must(t, os.Symlink(target, filepath.Join(dir, name+".new")))
	must(t, os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name)))
}

// A relative path works as an absolute one does.
func TestFileSourceRelativePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	put(t, "rules.yaml", "- a\n")
	o := observe(t, "rules.yaml")
	o.wantNext(map[string]string{"rules.yaml": "- a\n"})
	replace(t, "rules.yaml", "- b\n")
	o.wantNext(map[string]string{"rules.yaml": "- b\n"})
	o.stop()
}

// Watches follow the links and do not pile up.
func TestNotifierKeepsNoOldWatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	volume := filepath.Join(dir, "volume")
	n := newNotifier(zerolog.Nop(), fsnotify.NewWatcher)
	defer n.close()
	var first int
	for i := range 20 {
		must(t, configmap.Write(volume, map[string][]byte{"a.yaml": fmt.Appendf(nil, "- %d\n", i)}))
		n.follow(volume)
		got := len(n.watcher.WatchList())
		if i == 0 {
			first = got
		}
		if got != first || got > 3 {
			t.Fatalf("after %d swaps: watches %v, want %d as at first", i, n.watcher.WatchList(), first)
		}
	}
	must(t, os.RemoveAll(volume))
	n.follow(volume)
	if got := n.watcher.WatchList(); len(got) != 1 {
		t.Errorf("the volume is gone, watches %v, want its parent only", got)
	}
}

// What happens beside the path gives no sign, so that a busy directory costs no readings.
func TestNotifierIgnoresOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "rules.yaml")
	put(t, path, "- a\n")
	n := newNotifier(zerolog.Nop(), fsnotify.NewWatcher)
	defer n.close()
	n.follow(path)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, tt := range []struct {
		event string
		want  bool
	}{{"rules.yaml", true}, {"other.yaml", false}, {".", true}, {"..", false}, {"sub/rules.yaml", false}} {
		if got := n.watched.concern(filepath.Join(dir, tt.event)); got != tt.want {
			t.Errorf("event %q: concern %v, want %v", tt.event, got, tt.want)
		}
	}
}

// A path through a loop of links ends.
func TestNotifierLinkLoop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	o := observe(t, filepath.Join(dir, "loop", "rules"))
	if err := o.untilError(); !strings.Contains(err.Error(), "too many levels of symbolic links") {
		t.Errorf("got %v", err)
	}
	must(t, os.Remove(filepath.Join(dir, "loop")))
	must(t, os.MkdirAll(filepath.Join(dir, "loop", "rules"), 0o755))
	put(t, filepath.Join(dir, "loop", "rules", "a.yaml"), "- a\n")
	o.untilContents(map[string]string{"a.yaml": "- a\n"})
}

func TestNotifierWarnsOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	n := &notifier{log: zerolog.New(&log)}
	n.warn(os.ErrPermission)
	n.warn(os.ErrPermission)
	if got := strings.Count(log.String(), "found by polling"); got != 1 {
		t.Errorf("%d warnings, want 1: %s", got, log.String())
	}
}

// Two watches of one source do not disturb each other.
func TestFileSourceWatchedTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.yaml"), "- a\n")
	s := FileSource{Path: dir, Debounce: quick, Poll: 24 * time.Hour}
	one, two := observeSource(t, s), observeSource(t, s)
	one.wantNext(map[string]string{"a.yaml": "- a\n"})
	two.wantNext(map[string]string{"a.yaml": "- a\n"})
	one.stop()
	replace(t, filepath.Join(dir, "a.yaml"), "- b\n")
	two.wantNext(map[string]string{"a.yaml": "- b\n"})
}
