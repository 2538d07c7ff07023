//go:build !linux

package hook

import "time"

// Read gives up on a read that takes too long, and leaves it behind: the
// process ends right after.
func (t *timed) Read(p []byte) (int, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		buf := make([]byte, len(p))
		n, err := t.file.Read(buf)
		done <- result{buf[:n], err}
	}()
	select {
	case r := <-done:
		return copy(p, r.data), r.err
	case <-time.After(time.Until(t.until)):
		return 0, errTooLong
	}
}
