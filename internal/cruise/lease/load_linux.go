package lease

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Load is how many processes ran or waited to in the last minute, for each core.
func Load() float64 {
	const one = 1 << 16 // of the kernel's fixed point
	var i unix.Sysinfo_t
	if unix.Sysinfo(&i) != nil {
		return 0
	}
	return float64(i.Loads[0]) / one / float64(runtime.NumCPU())
}
