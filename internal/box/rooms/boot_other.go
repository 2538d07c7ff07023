//go:build !linux

package rooms

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func bootID() (string, error) {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return id, nil
}
