//go:build !linux

package jail

import (
	"fmt"
	"os"
)

// Main says that there is no such box here.
func Main() int {
	fmt.Fprintln(os.Stderr, "cco-box: native boxes need Linux")
	return 2
}

// Contain says the same.
func Contain(string) int { return Main() }
