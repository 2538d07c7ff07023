package store

import (
	"errors"
	"slices"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Passes says whether an error of the database passes by itself: another process has it, or there is no room.
func Passes(err error) bool {
	return is(err, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)
}

// is says whether an error is one of these of SQLite's. The extended part of its code does not matter.
func is(err error, codes ...int) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains(codes, e.Code()&0xff)
}
