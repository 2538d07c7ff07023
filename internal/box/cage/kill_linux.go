package cage

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// killInit kills a box's pid 1 and waits for its end. By then the kernel has ended all the others.
func killInit(ctx context.Context, pid int, start string) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", pid, err)
	}
	defer closeFD(fd)
	// The descriptor is for the process that has the pid now: it is our init only if it started when ours did.
	if now, err := startTime(pid); err != nil || now != start {
		return nil
	}
	if err := killBy(fd, pid); err != nil {
		return err
	}
	return awaitEnd(ctx, fd, pid)
}

func killBy(fd, pid int) error {
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	return nil
}

// awaitEnd returns when an init is dead: the kernel reports that only after it has ended all else in the namespace.
func awaitEnd(ctx context.Context, fd, pid int) error {
	for ctx.Err() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("wait for process %d: %w", pid, err)
		}
		if n > 0 {
			return nil
		}
	}
	return ctx.Err()
}

func closeFD(fd int) { _ = unix.Close(fd) }

// startTime is when a process started, as the kernel reports it.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", err
	}
	// The name in parentheses may contain anything; after the last parenthesis there are only numbers.
	_, rest, ok := strings.Cut(string(stat[max(0, strings.LastIndexByte(string(stat), ')')):]), " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return "", fmt.Errorf("read start time of process %d", pid)
	}
	return fields[19], nil
}
