//go:build e2e && linux

package chaos

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

const canTrace = true

// What the headers of the kernel call them.
const (
	auxIgnore     = 1        // AT_IGNORE
	auxVDSO       = 33       // AT_SYSINFO_EHDR
	waitThreads   = 1 << 30  // __WALL
	traceExitKill = 0x100000 // PTRACE_O_EXITKILL
)

// runOnWallClock runs a program to its end, and returns its exit status. Its wall clock is as many
// nanoseconds ahead as the file says at the time; its monotonic clock is the machine's. No other process is
// touched: the program is traced, and what the kernel tells it of CLOCK_REALTIME is changed. (Nothing that is
// preloaded would do: the program has no C library.)
func runOnWallClock(file string, command []string) int {
	runtime.LockOSThread() // the kernel takes requests from the thread that traces
	var step atomic.Int64
	read := func() {
		if text, err := os.ReadFile(file); err == nil {
			if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
				step.Store(n)
			}
		}
	}
	read()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	err := cmd.Start()
	if err == nil {
		_, err = syscall.Wait4(cmd.Process.Pid, nil, 0, nil) // it stops before its first instruction
	}
	if err == nil {
		err = hideVDSO(cmd.Process.Pid)
	}
	if err == nil {
		err = syscall.PtraceSetOptions(cmd.Process.Pid, syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE|traceExitKill)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		for {
			select {
			case <-tick.C:
				read()
			case <-signals:
				_ = cmd.Process.Signal(syscall.SIGTERM) // it has ended, or it gets it
			}
		}
	}()
	return trace(cmd.Process.Pid, &step)
}

// hideVDSO lets a program that has just been loaded ask the kernel for the time, by taking from what it is
// told on its stack the place of the code that would find it without.
func hideVDSO(pid int) error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(pid, &regs); err != nil {
		return err
	}
	word := make([]byte, 8)
	at := uintptr(regs.Rsp)
	next := func() (uint64, error) {
		_, err := syscall.PtracePeekData(pid, at, word)
		at += 8
		return binary.LittleEndian.Uint64(word), err
	}
	count, err := next()
	if err != nil {
		return err
	}
	at += 8 * (uintptr(count) + 1) // arguments and the 0 behind them
	for environment := uint64(1); environment != 0; {
		if environment, err = next(); err != nil {
			return err
		}
	}
	for {
		kind, err := next()
		if err != nil || kind == 0 {
			return err
		}
		if kind == auxVDSO {
			binary.LittleEndian.PutUint64(word, auxIgnore)
			_, err := syscall.PtracePokeData(pid, at-8, word)
			return err
		}
		at += 8
	}
}

// trace lets a program and its threads run until it ends, and changes the answers to what they ask of the time.
func trace(pid int, step *atomic.Int64) int {
	known := map[int]bool{pid: true}
	goOn := func(thread int, sig syscall.Signal) {
		_ = syscall.PtraceSyscall(thread, int(sig)) // it has ended, or it goes on
	}
	goOn(pid, 0)
	for {
		var status syscall.WaitStatus
		thread, err := syscall.Wait4(-1, &status, waitThreads, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			fmt.Fprintln(os.Stderr, "wait:", err)
			return 1
		case thread == pid && status.Exited():
			return status.ExitStatus()
		case thread == pid && status.Signaled():
			return 128 + int(status.Signal())
		case !status.Stopped():
			delete(known, thread)
		case status.StopSignal() == syscall.SIGTRAP|0x80: // enters or leaves the kernel
			shift(thread, step.Load())
			goOn(thread, 0)
		case status.StopSignal() == syscall.SIGTRAP && status.TrapCause() > 0: // has made a thread
			goOn(thread, 0)
		case status.StopSignal() == syscall.SIGSTOP && !known[thread]: // is a new thread
			known[thread] = true
			goOn(thread, 0)
		default:
			goOn(thread, status.StopSignal())
		}
	}
}

// shift moves the time that a thread has just been told, if it is that of the wall clock. Before the kernel
// has answered, the result is not 0.
func shift(thread int, by int64) {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(thread, &regs); err != nil {
		return // it has been killed
	}
	const wall = 0 // CLOCK_REALTIME
	if regs.Orig_rax != syscall.SYS_CLOCK_GETTIME || regs.Rdi != wall || regs.Rax != 0 {
		return
	}
	word, at := make([]byte, 8), uintptr(regs.Rsi)
	if _, err := syscall.PtracePeekData(thread, at, word); err != nil {
		return
	}
	seconds := int64(binary.LittleEndian.Uint64(word)) + by/int64(time.Second)
	binary.LittleEndian.PutUint64(word, uint64(seconds))
	_, _ = syscall.PtracePokeData(thread, at, word)
}
