package ruleswatch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"
)

// maxLinks is how many symbolic links the kernel follows in one path.
const maxLinks = 40

// notifier turns file system events into signs that a path may read differently now. It watches
// directories only: a watch on a file ends with the file, and most writers replace files. Which
// directories these are changes with every symbolic link on the way, so follow is called before each
// reading. Without a working watcher it gives no signs, and polling is left; each reading then asks
// the kernel for one again, since what others use up they also give back.
type notifier struct {
	maybe chan struct{} // holds at most one sign
	log   zerolog.Logger
	open  func() (*fsnotify.Watcher, error)
	pumps sync.WaitGroup // at most one

	// Used by follow and close only.
	watcher *fsnotify.Watcher // nil as long as the kernel gives none
	warned  bool

	mu      sync.Mutex
	watched interests // guarded by mu
}

// interests are the watched directories, by their real paths, with the names in them that matter; nil
// means that all do.
type interests map[string]map[string]bool

// add notes that a name in a directory matters, "" for all names.
func (in interests) add(dir, name string) {
	names, known := in[dir]
	switch {
	case name == "" || known && names == nil:
		in[dir] = nil
	case !known:
		in[dir] = map[string]bool{name: true}
	default:
		names[name] = true
	}
}

// concern reports whether an event may change what is read.
func (in interests) concern(event string) bool {
	if _, ok := in[event]; ok {
		return true // the directory itself
	}
	names, ok := in[filepath.Dir(event)]
	return ok && (names == nil || names[filepath.Base(event)])
}

// newNotifier returns a notifier that watches nothing until follow. open makes its watcher.
func newNotifier(log zerolog.Logger, open func() (*fsnotify.Watcher, error)) *notifier {
	return &notifier{maybe: make(chan struct{}, 1), log: log, open: open, watched: make(interests)}
}

// close ends the pump and waits for it.
func (n *notifier) close() {
	if n.watcher != nil {
		n.watcher.Close()
	}
	n.pumps.Wait()
}

// start makes the watcher unless there is one, and returns whether there is one now.
func (n *notifier) start() bool {
	if n.watcher != nil {
		return true
	}
	w, err := n.open()
	if err != nil {
		n.warn(err)
		return false
	}
	n.watcher = w
	n.pumps.Go(func() { n.pump(w) })
	return true
}

func (n *notifier) pump(w *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			n.mu.Lock()
			concerned := n.watched.concern(e.Name)
			n.mu.Unlock()
			if concerned {
				n.sign()
			}
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			// Events were lost, as a rule because too many came at once (ErrEventOverflow). Whatever
			// they were, a reading finds it, and follow sets again what watches it needs.
			n.log.Debug().Err(err).Msg("notifications of changes to rule files were lost, reading them again")
			n.sign()
		}
	}
}

func (n *notifier) sign() {
	select {
	case n.maybe <- struct{}{}:
	default: // one sign is there already
	}
}

// warn says once that polling is needed, and what would make it needless.
func (n *notifier) warn(err error) {
	if n.warned {
		return
	}
	n.warned = true
	line := n.log.Warn().Err(err)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		line = line.Str("limit", "fs.inotify.max_user_watches")
	case errors.Is(err, syscall.EMFILE):
		line = line.Str("limit", "fs.inotify.max_user_instances, or open files")
	}
	line.Msg("the kernel does not notify of all changes to rule files, the rest is found by polling")
}

// follow watches every directory where a change can make path read differently, and no other.
func (n *notifier) follow(path string) {
	if !n.start() {
		return
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		n.warn(err)
		return
	}
	now := make(interests)
	if dir, ok := n.walk(abs, now); ok {
		n.watch(dir, "", now)
		n.walkLinks(dir, now)
	}
	n.mu.Lock()
	before := n.watched
	n.watched = now
	n.mu.Unlock()
	// Without the lock: Remove waits for the watcher's reader, which may be waiting for the pump to
	// take an error from it, which may be waiting for the lock.
	for dir := range before {
		if _, ok := now[dir]; !ok {
			n.watcher.Remove(dir) // an error says that the kernel removed it with the directory
		}
	}
}

// walkLinks follows the rule files of a directory that are symbolic links.
func (n *notifier) walkLinks(dir string, now interests) {
	var links []string
	err := list(dir, func(e fs.DirEntry) {
		if e.Type()&fs.ModeSymlink != 0 && len(links) < maxFiles {
			links = append(links, e.Name())
		}
	})
	if err != nil {
		return // the reading that follows reports it
	}
	for _, name := range links {
		n.walk(filepath.Join(dir, name), now)
	}
}

// walk goes along an absolute path as the kernel does and watches each directory in which a name
// decides where it leads: where a symbolic link lies, where an element is missing, and where the last
// element lies. A directory that is replaced further up is found by polling. It returns the real path
// of the directory that path leads to, or false if that is no directory.
func (n *notifier) walk(path string, now interests) (string, bool) {
	current, rest, links := "/", elements(path), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			current = filepath.Dir(current)
			continue
		}
		next := filepath.Join(current, name)
		info, err := os.Lstat(next)
		if err == nil && info.IsDir() && len(rest) > 0 {
			current = next
			continue
		}
		// Looked at again after the watch is set: a change in between would be seen by neither.
		n.watch(current, name, now)
		if info, err = os.Lstat(next); err != nil {
			return "", false
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(next)
			if links++; err != nil || links > maxLinks {
				return "", false
			}
			if filepath.IsAbs(target) {
				current = "/"
			}
			rest = append(elements(target), rest...)
		case info.IsDir():
			current = next
		default:
			return "", false
		}
	}
	return current, true
}

// elements splits a path and drops what does not lead anywhere.
func elements(path string) []string {
	var es []string
	for e := range strings.SplitSeq(path, "/") {
		if e != "" && e != "." {
			es = append(es, e)
		}
	}
	return es
}

// watch adds a directory to the kernel's watches and the name to what matters, this first, so that no
// event of a new watch is thrown away.
func (n *notifier) watch(dir, name string, now interests) {
	now.add(dir, name)
	n.mu.Lock()
	n.watched.add(dir, name)
	n.mu.Unlock()
	err := n.watcher.Add(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		n.sign() // it went meanwhile, and nothing watched tells when it comes back: look again
	case err != nil:
		n.warn(err)
	}
}
