package envoytest

import "syscall"

// processAttributes puts a child into a group of its own and lets it die with this process, so
// that a test run that is killed leaves nothing behind.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
