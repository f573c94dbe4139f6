package listen

import (
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
)

// peerWorld is a Peers with a clock that only the test turns, and listeners that it tells apart.
type peerWorld struct {
	*Peers
	t   *testing.T
	now atomic.Int64
}

const peerGrace = 5

func newPeerWorld(t *testing.T) *peerWorld {
	w := &peerWorld{t: t}
	w.Peers = NewPeers(peerGrace, w.now.Load)
	return w
}

func (w *peerWorld) unix() net.Listener {
	w.t.Helper()
	return w.Listener(mustListen(w.t, mustParse(w.t, "unix:"+filepath.Join(shortDir(w.t), "s")), Options{}))
}

// connect returns both ends of a connection, and the number of its peer.
func (w *peerWorld) connect(ln net.Listener) (client, server net.Conn, peer uint32) {
	w.t.Helper()
	client, err := net.Dial(ln.Addr().Network(), ln.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	server, err = ln.Accept()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { client.Close(); server.Close() })
	peer = server.RemoteAddr().(interface{ Peer() uint32 }).Peer()
	if peer == 0 {
		w.t.Fatal("the peer has no number")
	}
	return client, server, peer
}

func (w *peerWorld) wantGone(what string, want ...uint32) {
	w.t.Helper()
	if got := w.Gone(); !slices.Equal(got, want) {
		w.t.Errorf("%s: %v have gone, want %v", what, got, want)
	}
}

func TestPeersGo(t *testing.T) {
	t.Parallel()
	w := newPeerWorld(t)
	ln := w.unix()
	_, one, first := w.connect(ln)
	_, two, second := w.connect(ln)
	if first != second {
		t.Fatalf("one process is peers %d and %d", first, second)
	}
	one.Close()
	one.Close()
	w.now.Store(100)
	w.wantGone("one connection is left")
	two.Close()
	w.now.Store(100 + peerGrace - 1)
	w.wantGone("it may come back")
	_, three, third := w.connect(ln)
	w.now.Store(200)
	w.wantGone("it has come back")
	if third != first {
		t.Errorf("it came back as %d, was %d", third, first)
	}
	three.Close()
	w.now.Store(200 + peerGrace)
	w.wantGone("it has gone", first)
	w.wantGone("said once")
	if _, _, fourth := w.connect(ln); fourth == first {
		t.Error("who comes later has the number of who has gone")
	}
}

func TestPeersAreToldApart(t *testing.T) {
	t.Parallel()
	w := newPeerWorld(t)
	a, b := w.unix(), w.unix()
	tcp := w.Listener(mustListen(t, mustParse(t, "tcp:127.0.0.1:0"), Options{}))
	_, _, one := w.connect(a)
	_, _, two := w.connect(b)
	_, _, three := w.connect(tcp)
	_, server, four := w.connect(tcp)
	if one == two || one == three || two == three {
		t.Errorf("three listeners have peers %d, %d and %d", one, two, three)
	}
	if three != four {
		t.Errorf("one host is peers %d and %d of a TCP listener", three, four)
	}
	if server.RemoteAddr().Network() != "tcp" || server.RemoteAddr().String() == "" {
		t.Errorf("the address is %s %s", server.RemoteAddr().Network(), server.RemoteAddr())
	}
	if raw, err := server.(syscall.Conn).SyscallConn(); err != nil || raw == nil {
		t.Errorf("no access to the socket: %v", err)
	}
}

// TestPeersOfOtherProcesses: a process that has died and its successor are two.
func TestPeersOfOtherProcesses(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the system does not say which process connects")
	}
	w := newPeerWorld(t)
	ln := w.unix()
	_, _, own := w.connect(ln)
	seen := []uint32{own}
	for range 2 {
		accepted := make(chan net.Conn, 1)
		go func() {
			defer close(accepted)
			if server, err := ln.Accept(); err == nil {
				accepted <- server
			}
		}()
		if said := dialAs(t, mustParse(t, "unix:"+ln.Addr().String()), ""); said != "connected" {
			t.Fatal(said)
		}
		server := <-accepted
		number := server.RemoteAddr().(*PeerAddr).Peer()
		server.Close()
		if slices.Contains(seen, number) {
			t.Errorf("a new process is peer %d of %v", number, seen)
		}
		seen = append(seen, number)
	}
	w.now.Store(peerGrace)
	got := w.Gone()
	slices.Sort(got)
	if want := seen[1:]; !slices.Equal(got, want) {
		t.Errorf("%v have gone, want %v", got, want)
	}
}
