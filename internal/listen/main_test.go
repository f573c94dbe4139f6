package listen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is its own second process: these variables make it one.
const (
	envServe = "LISTEN_TEST_SERVE" // an address: listen, print "ready", accept until stdin ends
	envDial  = "LISTEN_TEST_DIAL"  // an address: dial and print "connected" or the error
	envIDs   = "LISTEN_TEST_IDS"   // uid,gid[,supplementary gid]: become that first; empty: do not

	quickExit = "GORACE=atexit_sleep_ms=0" // else each child waits a second under -race
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(envServe) != "":
		os.Exit(serveChild(os.Getenv(envServe)))
	case os.Getenv(envDial) != "":
		os.Exit(dialChild(os.Getenv(envDial), os.Getenv(envIDs)))
	}
	goleak.VerifyTestMain(m)
}

func serveChild(addr string) int {
	a, err := Parse(addr)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ln, err := Listen(context.Background(), a, Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, "first")
			conn.Close()
		}
	}()
	io.Copy(io.Discard, os.Stdin)
	ln.Close()
	return 0
}

func dialChild(addr, ids string) int {
	if ids != "" {
		if err := become(ids); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	a, err := Parse(addr)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	conn, err := Dial(context.Background(), a)
	if err != nil {
		fmt.Println(err)
		return 0
	}
	conn.Close()
	fmt.Println("connected")
	return 0
}

// become takes on the ids.
func become(ids string) error {
	var n []int
	for _, s := range strings.Split(ids, ",") {
		id, err := strconv.Atoi(s)
		if err != nil {
			return err
		}
		n = append(n, id)
	}
	return errors.Join(syscall.Setgroups(n[2:]), syscall.Setgid(n[1]), syscall.Setuid(n[0]))
}

// child is a second process that serves an address.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	line  string // the first it printed: "ready", or why not
}

func startChild(t *testing.T, addr string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), envServe+"="+addr, quickExit)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd, stdin: stdin}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("child printed %q: %v", line, err)
	}
	c.line = strings.TrimSpace(line)
	return c
}

func (c *child) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.cmd.Wait()
}

// dialAs runs a dial in a process of other ids and returns what it printed.
func dialAs(t *testing.T, addr Addr, ids string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), envDial+"="+addr.String(), envIDs+"="+ids, quickExit)
	out, err := cmd.Output() // not stderr, where -cover complains that another user cannot write its data
	if err != nil {
		t.Fatalf("dial as %s: %v: %s", ids, err, out)
	}
	return strings.TrimSpace(string(out))
}

// shortDir returns a new directory with a short path, open to other users, as socket paths and the
// tests of them need.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "sl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustParse(t *testing.T, addr string) Addr {
	t.Helper()
	a, err := Parse(addr)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func mustListen(t *testing.T, a Addr, o Options) net.Listener {
	t.Helper()
	ln, err := Listen(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// sockAddr returns a fresh path for a socket as an address.
func sockAddr(t *testing.T) Addr {
	t.Helper()
	return mustParse(t, "unix:"+filepath.Join(shortDir(t), "s.sock"))
}

// within bounds what a test waits for; it passes long before on any machine.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// echoOnce proves that the listener serves: one connection through the address is accepted.
func echoOnce(t *testing.T, ln net.Listener, a Addr) {
	t.Helper()
	accepted := make(chan error, 1)
	go func() {
		conn, err := ln.Accept()
		if err == nil {
			_, err = io.WriteString(conn, "ok")
			conn.Close()
		}
		accepted <- err
	}()
	conn, err := Dial(within(t), a)
	if err != nil {
		ln.Close()
		<-accepted
		t.Fatal(err)
	}
	defer conn.Close()
	got, err := io.ReadAll(conn)
	if err != nil || string(got) != "ok" {
		t.Fatalf("got %q, %v, want ok", got, err)
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
}
