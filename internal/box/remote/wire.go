// Package remote is a driver for boxes in another machine: each call has a connection of its own to a server there,
// which has the real driver, and each stream of a program another one. If the call's connection ends, so does the call.
package remote

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

// These are the calls.
const (
	callHello     = "hello"
	callCreate    = "create"
	callStart     = "start"
	callStop      = "stop"
	callDestroy   = "destroy"
	callRunning   = "running"
	callProvision = "provision"
	callPrepare   = "prepare"
	callRun       = "run"
	callHalt      = "halt"
	callDiscard   = "discard"
	callLayers    = "layers"
	callTake      = "take"   // copies a directory of the host
	callStream    = "stream" // is no call: the connection is one of another call's
)

// These are the kinds of streams: a program's, a directory that is copied, and a program's way out.
const (
	kindIn   = "in"
	kindOut  = "out"
	kindErr  = "err"
	kindTree = "tree"
	kindWay  = "way"
)

// request is the first line on a connection.
type request struct {
	Call    string     `json:"call"`
	ID      string     `json:"id"`             // of the call, which nobody else can guess
	Kind    string     `json:"kind,omitempty"` // of a stream
	Box     string     `json:"box,omitempty"`
	Spec    *box.Spec  `json:"spec,omitempty"`
	Session string     `json:"session,omitempty"`
	Files   []box.File `json:"files,omitempty"`
	Exec    *exec      `json:"exec,omitempty"`
	Path    string     `json:"path,omitempty"`
	Mark    string     `json:"mark,omitempty"`
	Way     *way       `json:"way,omitempty"` // for setup commands
}

// exec is a box.Exec as it is sent. Arguments are bytes: JSON would change those that are not valid text.
type exec struct {
	box.Exec
	Argv, Env             [][]byte
	Way                   *way
	Stdin, Stdout, Stderr bool
	TTY                   *size
}

type way struct {
	Env []string `json:"env"`
}

type size struct{ Rows, Cols uint16 }

// word is what the caller sends during a call.
type word struct {
	Signal int   `json:"signal,omitempty"`
	Size   *size `json:"size,omitempty"`
	Cancel bool  `json:"cancel,omitempty"`
}

// reply is a line from the server: what it is doing, or how the call ended.
type reply struct {
	Report  string      `json:"report,omitempty"`
	Done    bool        `json:"done,omitempty"`
	Fault   *fault      `json:"fault,omitempty"`
	Running bool        `json:"running,omitempty"`
	Place   *box.Place  `json:"place,omitempty"`
	Layers  []box.Layer `json:"layers,omitempty"`
	Version string      `json:"version,omitempty"`
	Open    string      `json:"open,omitempty"` // the kind of a stream that the caller is to open
}

// fault is an error as it is sent: errors that callers check by type keep their type.
type fault struct {
	Kind   string `json:"kind"`
	Text   string `json:"text,omitempty"`
	Code   int    `json:"code,omitempty"`
	Signal int    `json:"signal,omitempty"`
	Stderr string `json:"stderr,omitempty"`

	What, Why, Mend, Limit string
}

// These are the kinds of fault.
const (
	faultExit        = "exit"
	faultUnavailable = "unavailable"
	faultLimit       = "limit"
	faultNotRunning  = "not running"
	faultCanceled    = "canceled"
	faultOther       = "other"
)

func newFault(err error) *fault {
	if err == nil {
		return nil
	}
	f := &fault{Kind: faultOther, Text: err.Error()}
	if e, ok := errors.AsType[*box.Unavailable](err); ok {
		f.Kind = faultUnavailable
		f.What, f.Why, f.Mend = e.What, e.Why, e.Mend
	} else if e, ok := errors.AsType[*box.LimitError](err); ok {
		f.Kind, f.What, f.Limit = faultLimit, e.What, e.Limit
	} else if e, ok := errors.AsType[*proc.ExitError](err); ok {
		f.Kind = faultExit
		f.Code, f.Signal, f.Stderr = e.Code, int(e.Signal), e.Stderr
	} else if errors.Is(err, box.ErrNotRunning) {
		f.Kind = faultNotRunning
	} else if errors.Is(err, context.Canceled) {
		f.Kind = faultCanceled
	}
	return f
}

// err turns a fault back into an error, with the server's message.
func (f *fault) err(argv []string) error {
	if f == nil {
		return nil
	}
	switch f.Kind {
	case faultUnavailable:
		return &box.Unavailable{What: f.What, Why: f.Why, Mend: f.Mend}
	case faultLimit:
		return &box.LimitError{What: f.What, Limit: f.Limit}
	case faultExit:
		if len(argv) == 0 {
			argv = []string{"setup"}
		}
		return &proc.ExitError{Argv: argv, Code: f.Code, Signal: syscall.Signal(f.Signal), Stderr: f.Stderr}
	case faultNotRunning:
		return box.ErrNotRunning
	case faultCanceled:
		return context.Canceled
	default:
		return errors.New(f.Text)
	}
}

func newExec(e box.Exec) *exec {
	x := &exec{Exec: e, Argv: toBytes(e.Argv), Env: toBytes(e.Env), Stdin: e.Stdin != nil, Stdout: e.Stdout != nil,
		Stderr: e.Stderr != nil}
	if e.Way != nil {
		x.Way = &way{Env: e.Way.Env}
	}
	return x
}

func (x *exec) real() box.Exec {
	e := x.Exec
	e.Argv, e.Env = toTexts(x.Argv), toTexts(x.Env)
	return e
}

func toBytes(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

func toTexts(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}

// sizeOf is a terminal's size.
func sizeOf(tty *os.File) *size {
	rows, cols, err := pty.Getsize(tty)
	if err != nil {
		return &size{Rows: 24, Cols: 80}
	}
	return &size{Rows: uint16(rows), Cols: uint16(cols)} // a terminal's size fits
}
