//go:build !linux

package probe

import (
	"fmt"
	"io"
	"os"
)

// Main says that there is nothing to try here.
func Main([]string, io.Reader, io.Writer) int {
	fmt.Fprintln(os.Stderr, "cco-box: the probes need Linux")
	return 2
}
