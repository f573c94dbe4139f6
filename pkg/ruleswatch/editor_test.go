package ruleswatch

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/configmap"
)

// editors are the ways in which programs save a file, as traced: each calls pause where another process
// may see the directory as it is then.
var editors = map[string]func(t *testing.T, path, data string, pause func()){
	"vim, backup by renaming": func(t *testing.T, path, data string, pause func()) {
		dir, name := filepath.Split(path)
		swap, probe := filepath.Join(dir, "."+name+".swp"), filepath.Join(dir, "4913")
		put(t, swap, "b0VIM 9.0")
		put(t, probe, "")
		must(t, os.Remove(probe))
		pause()
		must(t, os.Rename(path, path+"~"))
		pause()
		put(t, path, "")
		pause()
		put(t, path, data)
		must(t, os.Remove(path+"~"))
		pause()
		must(t, os.Remove(swap))
	},
	"vim, in place": func(t *testing.T, path, data string, pause func()) {
		put(t, path+"~", "backup")
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644) // cut to length afterwards
		must(t, err)
		_, err = f.WriteString(data)
		must(t, err)
		pause()
		must(t, f.Truncate(int64(len(data))))
		must(t, f.Close())
		must(t, os.Remove(path+"~"))
	},
	"emacs": func(t *testing.T, path, data string, pause func()) {
		dir, name := filepath.Split(path)
		lock := filepath.Join(dir, ".#"+name)
		must(t, os.Symlink("me@host.4711:1700000000", lock)) // to nothing
		put(t, filepath.Join(dir, "#"+name+"#"), data)       // auto-save
		pause()
		must(t, os.Rename(path, path+"~"))
		pause()
		put(t, path, data)
		must(t, os.Remove(filepath.Join(dir, "#"+name+"#")))
		must(t, os.Remove(lock))
		pause()
	},
	"nano": func(t *testing.T, path, data string, pause func()) {
		put(t, path, "")
		pause()
		put(t, path, data)
	},
	"sed -i": func(t *testing.T, path, data string, pause func()) {
		temp := filepath.Join(filepath.Dir(path), "sed7JW6ry")
		put(t, temp, data)
		pause()
		must(t, os.Rename(temp, path))
	},
	"GNOME editors": func(t *testing.T, path, data string, pause func()) {
		temp := filepath.Join(filepath.Dir(path), ".goutputstream-ABCDEF")
		put(t, temp, data)
		pause()
		must(t, os.Rename(temp, path))
	},
	"truncate and write in pieces": func(t *testing.T, path, data string, pause func()) {
		for i := 0; i <= len(data); i += max(1, len(data)/4) {
			put(t, path, data[:i])
			pause()
		}
		put(t, path, data)
	},
	"remove and create": func(t *testing.T, path, data string, pause func()) {
		must(t, os.Remove(path))
		pause()
		put(t, path, data)
	},
}

// underVirtualTime runs body beside a FileSource of dir that reads at the pauses of body and polls, in a
// bubble, and returns what was reported after the first reading.
func underVirtualTime(t *testing.T, dir string, body func(t *testing.T, pause func(time.Duration))) (reports []Document) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		maybe, ended := make(chan struct{}, 1), make(chan struct{})
		go func() {
			defer close(ended)
			FileSource{}.settler().run(ctx, maybe, func() Document { return Read(dir) }, func(d Document) { reports = append(reports, d) })
		}()
		synctest.Wait()
		pause := func(d time.Duration) {
			select {
			case maybe <- struct{}{}:
			default:
			}
			wait(d)
		}
		body(t, pause)
		pause(time.Minute)
		cancel()
		<-ended
	})
	return reports[1:]
}

// A save is one change, wherever in it the directory is looked at, and what editors leave lying
// about are no rules.
func TestEditorSaves(t *testing.T) {
	t.Parallel()
	for name, save := range editors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "a.yaml")
			put(t, path, "- before\n- the change\n")
			put(t, filepath.Join(dir, "b.yaml"), "- b\n")
			saved := []string{"- saved\n", "- saved again\n", "- and again, with more\n"}
			reports := underVirtualTime(t, dir, func(t *testing.T, pause func(time.Duration)) {
				for _, data := range saved {
					save(t, path, data, func() { pause(DefaultDebounce / 3) })
					pause(time.Minute)
				}
			})
			if len(reports) != len(saved) {
				t.Fatalf("got %+v, want one report of each save", reports)
			}
			for i, data := range saved {
				wantContents(t, reports[i], map[string]string{"a.yaml": data, "b.yaml": "- b\n"})
			}
		})
	}
}

// Through notifications alone, each save is seen in the end and no file is taken for nothing.
func TestEditorSavesAreNotified(t *testing.T) {
	t.Parallel()
	for name, save := range editors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.yaml")
			put(t, path, "- before\n")
			o := observe(t, path)
			o.wantNext(map[string]string{"a.yaml": "- before\n"})
			for _, data := range []string{"- saved\n", "- saved again\n", "- and again, with more\n"} {
				save(t, path, data, func() {})
				o.untilContents(map[string]string{"a.yaml": data})
			}
		})
	}
}

// A writer that stops for long in the middle is seen there: a file of 0 bytes is an error, never "no
// rules", and the end of the writing is one change.
func TestStalledRewrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	put(t, path, "- before\n")
	put(t, filepath.Join(dir, "b.yaml"), "- b\n")
	reports := underVirtualTime(t, dir, func(t *testing.T, pause func(time.Duration)) {
		must(t, os.Truncate(path, 0))
		pause(time.Minute)
		put(t, path, "- after\n")
	})
	if len(reports) != 2 || reports[0].Err == nil {
		t.Fatalf("got %+v, want an error and the new content", reports)
	}
	wantContents(t, reports[1], map[string]string{"a.yaml": "- after\n", "b.yaml": "- b\n"})
}

// A kubelet that stalls after any step of an update, for as long as it may, is seen as one change: to the
// new version once it has been swapped in.
func TestStalledVolumeUpdate(t *testing.T) {
	t.Parallel()
	versions := []map[string][]byte{
		{"a.yaml": []byte("1"), "b.yaml": []byte("1")},
		{"a.yaml": []byte("2"), "b.yaml": []byte("2")},
		{"a.yaml": []byte("3"), "b.yaml": []byte("3"), "c.yaml": []byte("3")}, // a new name
		{"c.yaml": []byte("4")},                                               // names removed
		{"a.yaml": []byte("5"), "x/a.yaml": []byte("5")},                      // all names replaced
	}
	dir := t.TempDir()
	must(t, configmap.Write(dir, versions[0]))
	steps := 0
	reports := underVirtualTime(t, dir, func(t *testing.T, pause func(time.Duration)) {
		for _, v := range versions[1:] {
			must(t, configmap.WriteStepwise(dir, v, func(int) {
				steps++
				pause(time.Minute)
			}))
			must(t, configmap.WriteStepwise(dir, v, func(step int) { t.Errorf("step %d of an unchanged content", step) }))
			pause(time.Minute)
		}
	})
	if want := (len(versions) - 1) * (configmap.StepRemoveOld - configmap.StepMakeVersion + 1); steps != want {
		t.Errorf("looked after %d steps, want %d", steps, want)
	}
	if len(reports) != len(versions)-1 {
		t.Fatalf("got %+v, want one report of each version", reports)
	}
	for i, v := range versions[1:] {
		want := contentsOf(v)
		delete(want, "x/a.yaml") // rule files lie at the top
		wantContents(t, reports[i], want)
	}
}
