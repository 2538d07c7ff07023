package quarantine

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// confine bounds a process that has started. It has read no input yet; a quick one may have ended already.
func confine(pid int, cpu time.Duration, memory, file int64) error {
	seconds := uint64((cpu + time.Second - 1) / time.Second)
	for _, l := range []struct {
		what  int
		limit unix.Rlimit
	}{
		// The hard limit kills; the soft one, a second before, says why.
		{unix.RLIMIT_CPU, unix.Rlimit{Cur: seconds, Max: seconds + 1}},
		{unix.RLIMIT_AS, unix.Rlimit{Cur: uint64(memory), Max: uint64(memory)}},
		{unix.RLIMIT_FSIZE, unix.Rlimit{Cur: uint64(file), Max: uint64(file)}},
		{unix.RLIMIT_CORE, unix.Rlimit{}},
	} {
		if err := unix.Prlimit(pid, l.what, &l.limit, nil); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("limit git: %w", err)
		}
	}
	return nil
}
