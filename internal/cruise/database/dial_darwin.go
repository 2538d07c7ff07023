package database

import (
	"time"

	"golang.org/x/sys/unix"
)

// unacknowledged is the option for how long a connection waits, in that unit.
const (
	unacknowledged     = unix.TCP_RXT_CONNDROPTIME
	unacknowledgedUnit = time.Second
)
