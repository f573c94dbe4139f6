package ruleswatch

import (
	"context"

	"github.com/rs/zerolog"
)

// unnotified is a FileSource on a system that gives no notifications.
type unnotified struct{ s FileSource }

// WithoutNotifications returns s without its notifications: polling is left.
func WithoutNotifications(s FileSource) Source { return unnotified{s} }

func (u unnotified) Watch(ctx context.Context, emit func(Document)) error {
	n := &notifier{maybe: make(chan struct{}, 1), log: zerolog.Nop(), pumped: make(chan struct{})}
	close(n.pumped)
	u.s.watch(ctx, n, emit)
	return nil
}
