package ruleswatch

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// asNobody runs f with the file access of another user on a thread of its own, which ends with it.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f() // no root, no exemption
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread is thrown away
		if err := syscall.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
}

func TestReadUnreadable(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "rw") // reachable for others, as t.TempDir is not
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	put(t, filepath.Join(dir, "a.yaml"), "- a\n")
	put(t, filepath.Join(dir, "b.yaml"), "- b\n")
	locked := filepath.Join(dir, "locked")
	must(t, os.Mkdir(locked, 0o755))
	put(t, filepath.Join(locked, "c.yaml"), "- c\n")

	asNobody(t, func() {
		wantContents(t, Read(dir), map[string]string{"a.yaml": "- a\n", "b.yaml": "- b\n"})
	})
	must(t, os.Chmod(filepath.Join(dir, "b.yaml"), 0))
	must(t, os.Chmod(locked, 0))
	t.Cleanup(func() { os.Chmod(locked, 0o755) })
	asNobody(t, func() {
		for path, want := range map[string]string{
			dir:                             "b.yaml: permission denied",
			filepath.Join(dir, "b.yaml"):    "b.yaml: permission denied",
			locked:                          "locked: permission denied",
			filepath.Join(locked, "c.yaml"): "c.yaml: permission denied",
		} {
			if d := Read(path); d.Err == nil || !strings.Contains(d.Err.Error(), want) {
				t.Errorf("%s: got %v, want %q in it", path, d.Err, want)
			}
		}
	})
}
