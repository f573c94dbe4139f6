package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/sidecard/sidecard/internal/listen"
)

// inheritance is what is left of the sockets that a service manager passed. Each is called like the setting
// whose addresses it stands for.
type inheritance struct {
	sockets  []*listen.Inherited
	settings []string // that were asked for
}

// listeners opens what a setting serves: the sockets that were passed under its name or, if there are none,
// those at its addresses. It returns where they listen, too.
func (i *inheritance) listeners(ctx context.Context, setting string, addresses []string, o listen.Options) (open []net.Listener, at []string, err error) {
	i.settings = append(i.settings, setting)
	defer func() {
		if err != nil {
			for _, l := range open {
				l.Close()
			}
			open, at, err = nil, nil, fmt.Errorf("%s: %w", setting, err)
		}
	}()
	var left []*listen.Inherited
	for _, s := range i.sockets {
		if s.Name != setting || err != nil {
			left = append(left, s)
			continue
		}
		var l net.Listener
		if l, err = s.Listener(o); err == nil {
			open, at = append(open, l), append(at, s.Addr.String())
		}
	}
	if i.sockets = left; err != nil || len(open) > 0 {
		return open, at, err
	}
	for _, text := range addresses {
		a, err := listen.Parse(text)
		if err != nil {
			return open, at, err
		}
		l, err := listen.Listen(ctx, a, o)
		if err != nil {
			return open, at, err
		}
		if at = append(at, a.String()); l != nil {
			open = append(open, l)
		}
	}
	return open, at, nil
}

// strangers returns an error if there are sockets that no setting was asked for.
func (i *inheritance) strangers() error {
	if len(i.sockets) == 0 {
		return nil
	}
	s := i.sockets[0]
	return fmt.Errorf("the service manager passes a socket on %s that is called %q; FileDescriptorName= must say what is served there: %s",
		s.Addr, s.Name, strings.Join(i.settings, " or "))
}

func (i *inheritance) close() {
	for _, s := range i.sockets {
		s.Close()
	}
}
