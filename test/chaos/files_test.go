//go:build e2e && linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/configmap"
)

// mount puts a small file system of its own at a directory; an error means that this process may not.
func mount(t *testing.T, dir, size string) error {
	t.Helper()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, size)
	if err == nil {
		t.Cleanup(func() { unmount(t, dir) })
	}
	return err
}

// unmount takes it away again, whoever uses it. Where there is none it does nothing.
func unmount(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
}

// The last good rules stay while there is none, and with them what was counted. When the directory comes
// back, with another rule in it, that one is in force and those before have forgotten nothing.
func lostRules(t *testing.T) row {
	o := options(t)
	mounted := mount(t, o.Rules, "size=1m") == nil
	if !mounted {
		t.Log("may not mount: the directory is only deleted")
	}
	w := begin(t, o)
	for n := range rounds() {
		refused, err := w.sample(soon(t), reloads("error")...)
		w.must(err)
		if mounted {
			unmount(t, o.Rules)
		}
		w.must(os.RemoveAll(o.Rules))
		w.untilAtLeast(refused+1, reloads("error")...)
		w.pause(time.Second)
		w.must(os.Mkdir(o.Rules, 0o755))
		if mounted {
			w.must(mount(t, o.Rules, "size=1m"))
		}
		next := fmt.Sprintf(`{"id": "next-%d", "resource": "images", "count": 0}`, n)
		w.must(configmap.Write(o.Rules, map[string][]byte{rulesFile: []byte(ruleSet(next))}))
		w.untilAtLeast(float64(n+2), reloads("success")...)
	}
	return w.finish()
}

// reloads are name and labels of the metric that counts readings of the rules.
func reloads(result string) []string {
	return []string{"sidecard_rules_reloads_total", fmt.Sprintf("result=%q", result)}
}

// Versions follow each other faster than they can be taken. Some are; the last one is.
func changingRules(t *testing.T) row {
	versions := 2000
	if testing.Short() {
		versions = 200
	}
	o := options(t)
	w := begin(t, o)
	for n := range versions {
		put(t, o.Rules, ruleSet(fmt.Sprintf(`{"id": "other-%d", "resource": "images", "count": %d}`, n%7, n)))
		w.pause(20 * time.Millisecond)
	}
	w.untilAtLeast(float64(2+versions/1000), reloads("success")...) // not only when they have come to rest
	put(t, o.Rules, ruleSet(`{"id": "last", "resource": "images", "count": 0}`))
	w.poll("the last version to be in force", func(ctx context.Context) (bool, error) {
		r, err := w.get(ctx, "/images")
		return r.Limited() && r.Rule == "last", err
	})
	return w.finish()
}

// A daemon that runs needs no room on the disk. One that is started there says what is wrong, and Envoy
// lets requests pass meanwhile.
func fullDisk(t *testing.T) row {
	o := options(t)
	disk := filepath.Join(o.Dir, "run")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := mount(t, disk, "size=64k,nr_inodes=16"); err != nil {
		return row{instead: "not run, this user may not mount: " + err.Error()}
	}
	o.Socket = filepath.Join(disk, "s")
	w := begin(t, o)
	for range rounds() {
		fill(t, disk)
		w.pause(time.Second)
		w.untilUsedUp()

		// The socket that a killed daemon has left is room enough for the next one.
		w.killSidecard()
		w.newSidecard()

		w.killSidecard()
		w.must(os.Remove(o.Socket))
		fill(t, disk)
		w.must(w.StartSidecard())
		err := w.Sidecard.Wait(soon(t))
		if log := w.Sidecard.Tail(2); err == nil || !strings.Contains(log, o.Socket) || !strings.Contains(log, "no space left on device") {
			t.Errorf("a start without room for the socket: %v, %s", err, log)
		}
		files, err := filepath.Glob(filepath.Join(disk, "fill-*"))
		w.must(err)
		for _, f := range files {
			w.must(os.Remove(f))
		}
		w.newSidecard()
	}
	return w.finish()
}

// fill leaves no room on a disk, neither for a byte nor for a name.
func fill(t *testing.T, disk string) {
	t.Helper()
	for n := 0; ; n++ {
		f, err := os.OpenFile(filepath.Join(disk, fmt.Sprint("fill-", n)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if errors.Is(err, syscall.ENOSPC) {
			return
		}
		if err == nil {
			_, err = f.Write(make([]byte, 64<<10))
			err = errors.Join(err, f.Close())
		}
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}
