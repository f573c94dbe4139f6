package ruleswatch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A file that is mounted by itself is read and said to be one that does not change; the reason why is
// shown as well.
func TestFileMountedAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	origin, path := filepath.Join(dir, "origin.yaml"), filepath.Join(dir, "rules", "a.yaml")
	put(t, origin, "- origin\n")
	must(t, os.Mkdir(filepath.Dir(path), 0o755))
	put(t, path, "")
	put(t, filepath.Join(dir, "rules", "b.yaml"), "- b\n")
	c := startChild(t, filepath.Dir(path), envBind+"="+origin+":"+path, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS})
	l := c.next()
	if !strings.Contains(l.Message, "subPath") || len(l.Mounted) != 1 || l.Mounted[0] != path {
		t.Fatalf("got %+v, want a warning that names %s", l, path)
	}
	c.untilContents(map[string]string{"a.yaml": "- origin\n", "b.yaml": "- b\n"})
	replace(t, origin, "- unseen\n")
	replace(t, filepath.Join(dir, "rules", "b.yaml"), "- seen\n")
	c.untilContents(map[string]string{"a.yaml": "- origin\n", "b.yaml": "- seen\n"})
}

// Without watches, and without even an inotify instance, changes are found by polling, and the log says
// once which limit is to be raised.
func TestNoInotifyLeft(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"watches": "fs.inotify.max_user_watches", "instances": "fs.inotify.max_user_instances"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, filepath.Join(dir, "a.yaml"), "- a\n")
			c := startChild(t, dir, envLimit+"=/proc/sys/user/max_inotify_"+name+":0", &syscall.SysProcAttr{
				Cloneflags:  unix.CLONE_NEWUSER, // which has limits of its own
				UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
			})
			if l := c.next(); !strings.Contains(l.Message, "found by polling") || !strings.Contains(l.Limit, want) {
				t.Fatalf("got %+v, want a warning that names %s", l, want)
			}
			for _, data := range []string{"- a\n", "- b\n", "- c\n"} {
				replace(t, filepath.Join(dir, "a.yaml"), data)
				if messages := c.untilContents(map[string]string{"a.yaml": data}); len(messages) != 0 {
					t.Errorf("warned again: %q", messages)
				}
			}
		})
	}
}
