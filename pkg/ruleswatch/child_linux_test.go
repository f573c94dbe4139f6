package ruleswatch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// The test binary is its own second process where a test needs the kernel to treat it otherwise.
const (
	envChild = "RULESWATCH_TEST_CHILD" // a path to watch
	envBind  = "RULESWATCH_TEST_BIND"  // from:to, mounted first
	envLimit = "RULESWATCH_TEST_LIMIT" // file:value, written first
)

// childLine is what the child prints: first whether it could be set up, then each document and each line
// of its log.
type childLine struct {
	Refused string            `json:"refused"`
	Files   map[string]string `json:"files"`
	Err     string            `json:"err"`
	Message string            `json:"message"`
	Mounted []string          `json:"mounted"`
	Limit   string            `json:"limit"`
}

// runChild is what such a process does instead of running tests: it watches until its input ends.
func runChild() (code int, ok bool) {
	path := os.Getenv(envChild)
	if path == "" {
		return 0, false
	}
	out := zerolog.SyncWriter(os.Stdout)
	say := func(l childLine) {
		text, _ := json.Marshal(l) // strings always can be
		out.Write(append(text, '\n'))
	}
	err := errors.Join(bind(os.Getenv(envBind)), limit(os.Getenv(envLimit)))
	say(childLine{Refused: errorText(err)})
	if err != nil {
		return 0, true
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	s := FileSource{Path: path, Debounce: quick, Poll: 10 * time.Millisecond, Log: zerolog.New(out)}
	err = s.Watch(ctx, func(d Document) { say(childLine{Files: contents(d), Err: errorText(d.Err)}) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

func bind(fromTo string) error {
	from, to, ok := strings.Cut(fromTo, ":")
	if !ok {
		return nil
	}
	// Whatever is mounted here is not to be seen outside of the namespace.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return unix.Mount(from, to, "", unix.MS_BIND, "")
}

func limit(fileValue string) error {
	file, value, ok := strings.Cut(fileValue, ":")
	if !ok {
		return nil
	}
	return os.WriteFile(file, []byte(value), 0)
}

// watchingChild is a running child.
type watchingChild struct {
	t     *testing.T
	lines *bufio.Scanner
}

// startChild watches a path in a child that is set up by a variable and attributes, or skips the test
// where the kernel does not allow that.
func startChild(t *testing.T, path, setup string, attributes *syscall.SysProcAttr) *watchingChild {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), envChild+"="+path, setup, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = attributes
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	if err := cmd.Start(); err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	c := &watchingChild{t: t, lines: bufio.NewScanner(stdout)}
	t.Cleanup(func() {
		stdin.Close()
		for c.lines.Scan() {
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	if l := c.next(); l.Refused != "" {
		t.Skipf("cannot be set up here: %s", l.Refused)
	}
	return c
}

// next returns the next line.
func (c *watchingChild) next() childLine {
	c.t.Helper()
	var l childLine
	if !c.lines.Scan() {
		c.t.Fatalf("the child has ended (%v)", c.lines.Err())
	}
	must(c.t, json.Unmarshal(c.lines.Bytes(), &l))
	return l
}

// untilContents waits for a document, and returns the messages of the log up to it.
func (c *watchingChild) untilContents(want map[string]string) (messages []string) {
	c.t.Helper()
	for {
		l := c.next()
		if l.Message != "" {
			messages = append(messages, l.Message)
		}
		if l.Err == "" && l.Files != nil && maps.Equal(l.Files, want) {
			return messages
		}
	}
}
