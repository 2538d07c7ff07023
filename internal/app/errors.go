package app

import "fmt"

// UsageError is a command line that makes no sense.
type UsageError struct{ error }

// Usagef makes one.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }
