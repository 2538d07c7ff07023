package store

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// passing are the states of PostgreSQL that pass by themselves: it or the way to it is away, it has no room, or others
// were in the way. A class of them has two letters.
var passing = []string{"08", "53", "57P01", "57P02", "57P03", "40001", "40P01", "55P03"}

// Passes says whether an error of a database passes by itself: another process has it, there is no room, or it is away.
func Passes(err error) bool {
	if is(err, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL) {
		return true
	}
	// Not by PostgreSQL's own types: most programs of cco are linked without it.
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		state := e.SQLState()
		return slices.Contains(passing, state) || len(state) >= 2 && slices.Contains(passing, state[:2])
	}
	_, network := errors.AsType[*net.OpError](err) // not every net.Error: those of forges mean more
	return network || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// is says whether an error is one of these of SQLite's. The extended part of its code does not matter.
func is(err error, codes ...int) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains(codes, e.Code()&0xff)
}
