//go:build !linux

package proc

import "syscall"

func tie(*syscall.SysProcAttr) {}
