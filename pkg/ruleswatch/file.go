package ruleswatch

import (
	"context"
	"os"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"
)

// The timing of a FileSource unless it says otherwise.
const (
	DefaultDebounce = 200 * time.Millisecond
	DefaultPoll     = 10 * time.Second
)

// FileSource is the Source of one path: a rule file, or a directory of them (see Read for what counts).
// It need not exist. Changes are seen through the kernel's notifications and, where these fail or miss
// one (network file systems, single files mounted into a container, no watches left), by polling.
// It may be watched several times, also concurrently.
type FileSource struct {
	// Path is the file or directory. Symbolic links on the way are followed anew at each reading.
	Path string
	// Debounce is how long a changed content must stay as it is before it is reported; 0 means
	// DefaultDebounce. A content that never rests is reported after ten times as long.
	Debounce time.Duration
	// Poll is the time between readings without any notification; 0 means DefaultPoll.
	Poll time.Duration
	// Log gets one line if notifications do not work, and one if the path is mounted in a way that hides
	// its changes. The zero value logs nothing.
	Log zerolog.Logger
}

var _ Source = FileSource{}

// Watch implements Source. It always returns nil.
func (s FileSource) Watch(ctx context.Context, emit func(Document)) error {
	log := s.Log.With().Str("path", s.Path).Logger()
	if table, err := os.ReadFile(mountTable); err == nil {
		warnMounted(log, mountedAlone(s.Path, table))
	}
	s.watch(ctx, newNotifier(log, fsnotify.NewWatcher), emit)
	return nil
}

// warnMounted names what will not change while this process lives, as far as it is told apart.
func warnMounted(log zerolog.Logger, alone []string) {
	if len(alone) > 0 {
		log.Warn().Strs("mounted", alone[:min(len(alone), 10)]).Int("count", len(alone)).
			Msg("mounted one by one, as by subPath: new versions of these rule files are not seen until a restart, mount their whole directory instead")
	}
}

func (s FileSource) watch(ctx context.Context, n *notifier, emit func(Document)) {
	defer n.close()
	s.settler().run(ctx, n.maybe, func() Document {
		n.follow(s.Path) // before the reading: what changes after it is notified
		return Read(s.Path)
	}, emit)
}

func (s FileSource) settler() settler {
	debounce, poll := s.Debounce, s.Poll
	if debounce <= 0 {
		debounce = DefaultDebounce
	}
	if poll <= 0 {
		poll = DefaultPoll
	}
	return settler{first: debounce / 4, debounce: debounce, patience: 10 * debounce, poll: poll}
}
