//go:build !linux

package quarantine

import "time"

// confine can't bound another process here: there --max-input-size and the limits on objects stand alone.
func confine(int, time.Duration, int64, int64) error { return nil }
