package lease

import (
	"encoding/binary"
	"runtime"

	"golang.org/x/sys/unix"
)

// Load is how many processes ran or waited to in the last minute, for each core.
func Load() float64 {
	// Three averages of 32 bits, and the scale of them: on machines of 64 bits at 16.
	const scale = 16
	b, err := unix.SysctlRaw("vm.loadavg")
	if err != nil || len(b) < scale+4 {
		return 0
	}
	one := binary.NativeEndian.Uint32(b[scale:])
	if one == 0 {
		return 0
	}
	return float64(binary.NativeEndian.Uint32(b)) / float64(one) / float64(runtime.NumCPU())
}
