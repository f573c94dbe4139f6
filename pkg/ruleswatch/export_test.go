package ruleswatch

import (
	"context"
	"errors"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"
)

// unnotified is a FileSource on a system that gives no notifications.
type unnotified struct{ s FileSource }

// WithoutNotifications returns s without its notifications: polling is left.
func WithoutNotifications(s FileSource) Source { return unnotified{s} }

func (u unnotified) Watch(ctx context.Context, emit func(Document)) error {
	none := func() (*fsnotify.Watcher, error) { return nil, errors.ErrUnsupported }
	u.s.watch(ctx, newNotifier(zerolog.Nop(), none), emit)
	return nil
}
