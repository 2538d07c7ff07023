package fleet

import (
	"time"

	"golang.org/x/sys/unix"
)

// Boot is the time since the machine was started. On a Mac the monotonic clock goes on while the machine sleeps.
func Boot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // every Mac has it
	}
	return time.Duration(ts.Nano())
}
