package listen

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestAdmits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		allow Allow
		uid   uint32
		gids  []uint32
		want  bool
	}{
		{Allow{}, 7, nil, true},
		{Allow{UIDs: []uint32{0}}, 0, nil, true},
		{Allow{UIDs: []uint32{5, 7}}, 7, []uint32{9}, true},
		{Allow{UIDs: []uint32{5}}, 7, []uint32{5}, false}, // a group is no user
		{Allow{GIDs: []uint32{9}}, 9, []uint32{7}, false},
		{Allow{GIDs: []uint32{9}}, 7, []uint32{3, 9}, true},
		{Allow{UIDs: []uint32{5}, GIDs: []uint32{9}}, 5, []uint32{5}, true},
		{Allow{UIDs: []uint32{5}, GIDs: []uint32{9}}, 6, []uint32{6}, false},
		{Allow{GIDs: []uint32{9}}, 7, nil, false},
	} {
		if got := tc.allow.Admits(tc.uid, tc.gids...); got != tc.want {
			t.Errorf("%+v admits user %d of groups %d: %t, want %t", tc.allow, tc.uid, tc.gids, got, tc.want)
		}
	}
}

// guarded is a listener that says of each connection what became of it.
type guarded struct {
	net.Listener
	outcomes chan error // nil: let in
}

func newGuarded(t *testing.T, a Addr, o Options) guarded {
	t.Helper()
	g := guarded{outcomes: make(chan error, 16)}
	o.Refused = func(r Refusal) {
		if r.Addr != a || r.Reason != ReasonPeer {
			t.Errorf("refused %+v, want one of %s for its peer", r, a)
		}
		g.outcomes <- r.Err
	}
	g.Listener = mustListen(t, a, o)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := g.Accept()
			if err != nil {
				return
			}
			conn.Close()
			g.outcomes <- nil
		}
	}()
	t.Cleanup(func() { g.Close(); <-done })
	return g
}

// Processes of other users are told apart by what the kernel says of them.
func TestAllowOtherUsers(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	abstract := mustParse(t, "unix:@listen-test-"+strings.ReplaceAll(t.TempDir(), "/", "-")[1:])
	for _, tc := range []struct {
		name  string
		allow Allow
		ids   string // user, group and others
		admit bool
		want  string // in the refusal
	}{
		{"nobody is listed", Allow{}, "12345,12346", true, ""},
		{"the user", Allow{UIDs: []uint32{12345}}, "12345,12346", true, ""},
		{"another user", Allow{UIDs: []uint32{1, 12346}}, "12345,12346", false, "uid 12345, gid 12346"},
		{"root is not above it", Allow{UIDs: []uint32{12345}}, "0,0", false, "uid 0, gid 0"},
		{"the primary group", Allow{GIDs: []uint32{12346}}, "12345,12346", true, ""},
		{"one of its other groups", Allow{UIDs: []uint32{1}, GIDs: []uint32{30, 12400}}, "12345,12346,12399,12400", true, ""},
		{"none of its groups", Allow{GIDs: []uint32{30}}, "12345,12346,12399,12400", false, "groups [12399 12400]"},
	} {
		for _, a := range []Addr{sockAddr(t), abstract} {
			g := newGuarded(t, a, Options{Mode: 0o666, Allow: tc.allow})
			if out := dialAs(t, a, tc.ids); out != "connected" {
				t.Fatalf("%s at %s: %s", tc.name, a, out)
			}
			err := <-g.outcomes
			if (err == nil) != tc.admit || !tc.admit && (!errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s at %s: got %v, want admitted %t, %q", tc.name, a, err, tc.admit, tc.want)
			}
			g.Close()
		}
	}
}

// Whoever is refused is sent nothing, and those after him are served.
func TestAllowClosesAtOnce(t *testing.T) {
	t.Parallel()
	a := sockAddr(t)
	g := newGuarded(t, a, Options{Allow: Allow{UIDs: []uint32{uint32(os.Getuid()) + 1}}})
	for range 3 {
		conn, err := Dial(within(t), a)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := io.ReadAll(conn); len(got) > 0 {
			t.Errorf("got %q", got)
		}
		conn.Close()
		if err := <-g.outcomes; !errors.Is(err, ErrNotAllowed) {
			t.Errorf("got %v", err)
		}
	}
}

// The groups of a process are found whole, be they more than a first look has room for.
func TestPeerGroups(t *testing.T) {
	t.Parallel()
	a := sockAddr(t)
	ln := mustListen(t, a, Options{})
	client, err := Dial(within(t), a)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	want, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, g := range peerGroups(server) {
		got = append(got, int(g))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
	if got := peerGroups(nil); got != nil {
		t.Errorf("of no connection: %d", got)
	}
	// A process of many groups.
	if os.Getuid() != 0 {
		return
	}
	ids := "12345,12345"
	for i := range 100 {
		ids += "," + strconv.Itoa(20000+i)
	}
	g := newGuarded(t, sockAddr(t), Options{Mode: 0o666, Allow: Allow{GIDs: []uint32{20099}}})
	if out := dialAs(t, mustParse(t, "unix:"+g.Addr().String()), ids); out != "connected" {
		t.Fatal(out)
	}
	if err := <-g.outcomes; err != nil {
		t.Error(err)
	}
}
