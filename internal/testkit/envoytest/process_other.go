//go:build unix && !linux

package envoytest

import "syscall"

// processAttributes puts a child into a group of its own.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
