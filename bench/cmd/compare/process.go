package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cores are the processors that servers and client are held apart on.
type cores struct {
	server, client int
	all            unix.CPUSet // where we might run before
}

// pin picks two of the processors that we may run on and moves this process to the second.
func pin() (cores, error) {
	var c cores
	if err := unix.SchedGetaffinity(0, &c.all); err != nil {
		return c, os.NewSyscallError("sched_getaffinity", err)
	}
	var ids []int
	for id := 0; len(ids) < 2 && id < len(c.all)*64; id++ {
		if c.all.IsSet(id) {
			ids = append(ids, id)
		}
	}
	if len(ids) < 2 {
		return c, errors.New("server and client need a core each, only one is available")
	}
	c.server, c.client = ids[0], ids[1]
	return c, moveAllThreads(only(c.client))
}

// unpin lets this process run where it might before pin.
func (c cores) unpin() error { return moveAllThreads(c.all) }

func only(core int) unix.CPUSet {
	var set unix.CPUSet
	set.Set(core)
	return set
}

// moveAllThreads holds every thread of this process on the cores of a set.
func moveAllThreads(to unix.CPUSet) error {
	// A thread passes its mask on to those that it starts, so two passes catch all.
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, t := range threads {
			tid, err := strconv.Atoi(t.Name())
			if err != nil {
				return err
			}
			if err := moveThread(tid, to); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return nil
}

// moveThread holds a thread, 0 for this one, on the cores of a set.
func moveThread(tid int, to unix.CPUSet) error {
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(tid, &to))
}

// process is a running server.
type process struct {
	cmd    *exec.Cmd
	target string // the address it serves
	began  time.Time
	log    bytes.Buffer // its standard error; complete once done is closed
	done   chan struct{}
	err    error // of Wait, once done is closed
}

// start runs a server with one thread of Go code on the server's core. It does not wait for it to
// listen. The process dies with ctx.
func start(ctx context.Context, s subject, socket, rules string, c cores) (*process, error) {
	p := &process{target: "unix:" + socket, done: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, s.binary, s.args(socket, rules)...)
	p.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	p.cmd.Stderr = &p.log
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 5 * time.Second

	// The child inherits the mask of the thread that makes it, from its first instruction on.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := moveThread(0, only(c.server)); err != nil {
		return nil, err
	}
	p.began = time.Now()
	err := p.cmd.Start()
	if err := errors.Join(err, moveThread(0, only(c.client))); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop ends the server as an operator would.
func (p *process) stop() error {
	if err := p.cmd.Cancel(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	if p.err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(p.cmd.Path), p.err, p.log.String())
	}
	return nil
}

func (p *process) cpu() (time.Duration, error) { return processCPU(p.cmd.Process.Pid) }

// processCPU returns the processor time that a process has used, threads that have ended included.
func processCPU(pid int) (time.Duration, error) {
	// What clock_getcpuclockid(3) returns for a process: ~pid shifted by 3, clock 2 (scheduler).
	clock := int32(^pid<<3 | 2)
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		return 0, os.NewSyscallError("clock_gettime", err)
	}
	return time.Duration(ts.Nano()), nil
}

// resident returns the resident memory of the process in MiB.
func (p *process) resident() (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	kb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.ParseFloat(kb, 64)
	if err != nil {
		return 0, fmt.Errorf("VmRSS of process %d: %w", p.cmd.Process.Pid, err)
	}
	return n / 1024, nil
}
