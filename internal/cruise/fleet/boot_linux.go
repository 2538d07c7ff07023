package fleet

import (
	"time"

	"golang.org/x/sys/unix"
)

// Boot is the time since the machine was started. It goes on while the machine sleeps or this process is stopped, and
// nobody can set it.
func Boot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(err) // every Linux has it
	}
	return time.Duration(ts.Nano())
}
