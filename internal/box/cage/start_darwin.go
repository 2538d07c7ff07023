package cage

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// startTime is when a process started, as the kernel reports it.
func startTime(pid int) (string, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", fmt.Errorf("read start time of process %d: %w", pid, err)
	}
	at := info.Proc.P_starttime
	return strconv.FormatInt(at.Sec, 10) + "." + strconv.FormatInt(int64(at.Usec), 10), nil
}
