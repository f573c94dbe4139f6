package certs

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	quiet    = 200 * time.Millisecond // without a change before the files are read: a certificate and its key are two
	restless = 2 * time.Second        // after that they are read although they still change
	poll     = 10 * time.Second       // for what the kernel does not tell, as behind symbolic links
)

// Run follows the files until ctx is done, and returns nil. What it reads that is usable is used from
// then on; of the rest it writes a line, once for each error, and counts it.
func (s *Store) Run(ctx context.Context) error {
	maybe := make(chan struct{}, 1)
	stop := s.watch(maybe)
	defer stop()
	sign(maybe) // for what has changed since Load
	s.follow(ctx, maybe)
	return nil
}

// watch signs to maybe when something happens in a directory of the files. Directories are watched, because
// files are replaced: a Kubernetes secret by a renamed symbolic link beside them.
func (s *Store) watch(maybe chan<- struct{}) (stop func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		s.log.Warn().Err(err).Msg("the kernel does not notify of changes to certificates, they are found by polling")
		return func() {}
	}
	for _, name := range []string{s.files.Cert, s.files.Key, s.files.CA} {
		if name == "" {
			continue
		}
		if err := w.Add(filepath.Dir(name)); err != nil {
			s.log.Warn().Err(err).Str("directory", filepath.Dir(name)).Msg("the kernel does not notify of changes to certificates, they are found by polling")
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case _, ok := <-w.Events:
				if !ok {
					return
				}
			case _, ok := <-w.Errors: // events were lost
				if !ok {
					return
				}
			}
			sign(maybe)
		}
	}()
	return func() {
		w.Close()
		<-done
	}
}

func sign(maybe chan<- struct{}) {
	select {
	case maybe <- struct{}{}:
	default: // one sign is there already
	}
}

// follow reads the files again after signs, when they have been quiet, and each poll.
func (s *Store) follow(ctx context.Context, maybe <-chan struct{}) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	settled := time.NewTimer(time.Hour)
	settled.Stop()
	var since time.Time // of the first sign that is not dealt with; zero: none
	last := ""          // the error of the last reading
	for {
		select {
		case <-ctx.Done():
			return
		case <-maybe:
			if since.IsZero() {
				since = time.Now()
			}
			settled.Reset(min(quiet, restless-time.Since(since)))
			continue
		case <-settled.C:
		case <-tick.C:
			if !since.IsZero() {
				continue // soon
			}
		}
		since = time.Time{}
		last = s.note(last)
	}
}

// note reads the files and says what came of it. An error is noted once for as long as it is the same.
func (s *Store) note(last string) (now string) {
	changed, err := s.reload()
	switch {
	case err != nil && err.Error() != last:
		s.failures.Add(1)
		s.log.Error().Err(err).Msg("certificate not reloaded, the one before it stays in use")
	case err == nil && changed:
		s.reloads.Add(1)
		leaf := s.current.Load().cert.Leaf
		s.log.Info().Str("serial", leaf.SerialNumber.Text(16)).Time("expires", leaf.NotAfter).Msg("certificate reloaded")
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
