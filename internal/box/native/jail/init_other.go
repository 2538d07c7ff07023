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

// Hold says the same.
func Hold() int { return Main() }

// Contain says the same.
func Contain(string) int { return Main() }
