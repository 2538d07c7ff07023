// Package must ends a test at the first error of its preparation.
package must

import (
	"os"
	"syscall"
	"testing"
)

// Do ends the test if there is an error.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get gives the result of a call, or ends the test if the call failed: must.Get(os.ReadFile(name))(t).
func Get[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return v
	}
}

// Program writes a program that can be run at once, while other tests start programs: a child that was made at that
// moment would have the file open for writing for a while, and the kernel runs no such file.
func Program(t testing.TB, name, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	Do(t, os.WriteFile(name, []byte(text), 0o755))
}
