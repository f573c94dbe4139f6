package ruleswatch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"
)

// deaf removes all kernel watches, so that no event of what follows arrives.
func deaf(t *testing.T, n *notifier) {
	t.Helper()
	for _, dir := range n.watcher.WatchList() {
		must(t, n.watcher.Remove(dir))
	}
}

// drain takes the sign that may be there.
func drain(n *notifier) {
	select {
	case <-n.maybe:
	default:
	}
}

// Lost events are a sign, and the reading that follows sets the watches that it needs again.
func TestNotifierOverflow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.yaml"), "- a\n")
	n := newNotifier(zerolog.Nop(), fsnotify.NewWatcher)
	defer n.close()
	n.follow(dir)
	deaf(t, n)
	drain(n)
	replace(t, filepath.Join(dir, "a.yaml"), "- unheard\n")
	n.watcher.Errors <- fsnotify.ErrEventOverflow
	<-n.maybe
	n.follow(dir)
	replace(t, filepath.Join(dir, "a.yaml"), "- heard\n")
	<-n.maybe
}

// The kernel's queue overflows for real: the pump is held up while more happens than the queue holds.
func TestFileSourceQueueOverflow(t *testing.T) {
	t.Parallel()
	setting, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Skip("the length of the kernel's queue is not known here")
	}
	var queue int
	if _, err := fmt.Sscan(string(setting), &queue); err != nil || queue > 1<<16 {
		t.Skipf("the kernel's queue of %s events is too long to be filled in a test", strings.TrimSpace(string(setting)))
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	put(t, path, "- a\n")
	lost := make(chan string, 16)
	n := newNotifier(zerolog.New(lines(lost)).Level(zerolog.DebugLevel), fsnotify.NewWatcher)
	defer n.close()
	n.follow(dir)

	n.mu.Lock()              // the pump stops at its first event
	for range queue + 4096 { // beyond what fsnotify has read ahead
		// Two events in turn, since the kernel merges equal ones.
		must(t, os.Chmod(dir, 0o755))
		must(t, os.Chmod(path, 0o644))
	}
	replace(t, path, "- b\n") // its events are lost
	n.mu.Unlock()
	for line := range lost {
		if strings.Contains(line, fsnotify.ErrEventOverflow.Error()) {
			break
		}
	}
	<-n.maybe
	n.follow(dir)
	wantContents(t, Read(dir), map[string]string{"a.yaml": "- b\n"})
	replace(t, path, "- c\n") // and the watch is in order
	<-n.maybe
}

// lines is a writer that hands on each line while there is room.
type lines chan<- string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

// A kernel that gives no watcher is asked again with each reading.
func TestNotifierStartsWhenItCan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var log strings.Builder
	refusals := 2
	n := newNotifier(zerolog.New(&log), func() (*fsnotify.Watcher, error) {
		if refusals > 0 {
			refusals--
			return nil, fmt.Errorf("couldn't initialize inotify: %w", syscall.EMFILE)
		}
		return fsnotify.NewWatcher()
	})
	defer n.close()
	for range 3 {
		n.follow(dir)
	}
	put(t, filepath.Join(dir, "a.yaml"), "- a\n")
	<-n.maybe
	if got := strings.Count(log.String(), "fs.inotify.max_user_instances"); got != 1 {
		t.Errorf("%d warnings that name the limit, want 1: %s", got, log.String())
	}
}

// A notifier that never got a watcher ends all the same.
func TestNotifierNeverStarted(t *testing.T) {
	t.Parallel()
	n := newNotifier(zerolog.Nop(), func() (*fsnotify.Watcher, error) { return nil, errors.ErrUnsupported })
	n.follow(t.TempDir())
	n.close()
}

// The directory above the path may be replaced, and that is notified; one further up may be as well, and
// polling finds it: watching every directory up to the root would wake the daemon for all that goes on
// in /etc or /tmp.
func TestFileSourceReplacedParents(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		replaced string
		poll     time.Duration
	}{
		"the parent":      {replaced: "one/two", poll: 24 * time.Hour},
		"the grandparent": {replaced: "one", poll: 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			fill := func(top, data string) {
				t.Helper()
				must(t, os.MkdirAll(filepath.Join(base, top, "two", "rules"), 0o755))
				put(t, filepath.Join(base, top, "two", "rules", "a.yaml"), data)
			}
			fill("one", "- old\n")
			fill("other", "- new\n")
			o := observeSource(t, FileSource{Path: filepath.Join(base, "one", "two", "rules"), Debounce: quick, Poll: tt.poll})
			o.wantNext(map[string]string{"a.yaml": "- old\n"})
			old := filepath.Join(base, tt.replaced)
			must(t, os.Rename(old, old+".old"))
			must(t, os.Rename(filepath.Join(base, strings.Replace(tt.replaced, "one", "other", 1)), old))
			o.untilContents(map[string]string{"a.yaml": "- new\n"})
			replace(t, filepath.Join(base, "one", "two", "rules", "a.yaml"), "- again\n")
			o.untilContents(map[string]string{"a.yaml": "- again\n"})
		})
	}
}
