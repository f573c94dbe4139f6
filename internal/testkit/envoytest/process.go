package envoytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Program returns the program that a variable names, or what the PATH has under the given name.
func Program(variable, name string) (string, error) {
	program := os.Getenv(variable)
	if program == "" {
		program = name
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%w: set %s, or let make run this", err, variable)
	}
	return path, nil
}

// Process is a child in a process group of its own, whose output goes to a file.
// Its methods are safe for concurrent use.
type Process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when the child has ended and err is set
	err  error
}

// StartProcess runs a program; its output, both streams, is appended to the file log. The child
// is killed when this process dies.
func StartProcess(log, program string, args ...string) (*Process, error) {
	return start(processAttributes(), nil, log, program, args)
}

// StartProcessInheriting is StartProcess for a child that has the given files open, from descriptor 3 on.
func StartProcessInheriting(files []*os.File, log, program string, args ...string) (*Process, error) {
	return start(processAttributes(), files, log, program, args)
}

// StartProcessAs is StartProcess for a child of another user, who belongs to the given groups, at least
// one, and to no others. It needs root.
func StartProcessAs(uid uint32, groups []uint32, log, program string, args ...string) (*Process, error) {
	attributes := processAttributes()
	attributes.Credential = &syscall.Credential{Uid: uid, Gid: groups[0], Groups: groups}
	return start(attributes, nil, log, program, args)
}

func start(attributes *syscall.SysProcAttr, files []*os.File, log, program string, args []string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr, cmd.ExtraFiles = attributes, files
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	p := &Process{name: filepath.Base(program), cmd: cmd, log: log, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the child to end by itself and returns how it did: nil for exit status 0.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("%s still runs: %w", p.name, ctx.Err())
	}
}

// Signal sends a signal to the child.
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// Stop ends the child: SIGTERM first, and SIGKILL to its whole group after the grace. Nil means
// that it ended in time; the exit status is for Wait.
func (p *Process) Stop(grace time.Duration) error {
	if err := p.Signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
		<-p.done
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.done
	return fmt.Errorf("%s did not end within %s of SIGTERM", p.name, grace)
}

// Log returns what the child has written so far, an unreadable log as its error.
func (p *Process) Log() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Tail returns the last lines of the log, each behind the name of the program.
func (p *Process) Tail(lines int) string {
	all := bytes.Split(bytes.TrimRight([]byte(p.Log()), "\n"), []byte("\n"))
	all = all[max(0, len(all)-lines):]
	var b bytes.Buffer
	for _, line := range all {
		fmt.Fprintf(&b, "%s | %s\n", p.name, line)
	}
	return b.String()
}
