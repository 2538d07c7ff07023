// Package remote is a driver for boxes in another machine: each call has a connection of its own to a server there,
// which has the real driver. If the connection ends, so does the call.
package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"

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
	callTake      = "take" // copies a directory of the host
)

// request is the first line of a call.
type request struct {
	Call    string     `json:"call"`
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
	Session  string     `json:"session,omitempty"`
	Argv     [][]byte   `json:"argv"`
	Env      [][]byte   `json:"env,omitempty"`
	Dir      string     `json:"dir,omitempty"`
	Own      bool       `json:"own,omitempty"`
	Furnish  bool       `json:"furnish,omitempty"`
	Repo     string     `json:"repo,omitempty"`
	Fill     bool       `json:"fill,omitempty"`
	ReadOnly bool       `json:"read_only,omitempty"`
	View     string     `json:"view,omitempty"`
	Aside    bool       `json:"aside,omitempty"`
	Limits   box.Limits `json:"limits"`
	Etc      []box.File `json:"etc,omitempty"`
	Binds    []string   `json:"binds,omitempty"`
	Way      *way       `json:"way,omitempty"`

	Stdin, Stdout, Stderr bool
	TTY                   *size `json:"tty,omitempty"`
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
	Has     bool        `json:"has,omitempty"`
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
	x := &exec{
		Session: e.Session, Argv: toBytes(e.Argv), Env: toBytes(e.Env), Dir: e.Dir, Own: e.Own, Furnish: e.Furnish,
		Repo: e.Repo, Fill: e.Fill, ReadOnly: e.ReadOnly, View: e.View, Aside: e.Aside,
		Limits: e.Limits, Etc: e.Etc, Stdin: e.Stdin != nil, Stdout: e.Stdout != nil, Stderr: e.Stderr != nil,
	}
	for _, b := range e.Binds {
		x.Binds = append(x.Binds, b.Path)
	}
	if e.Way != nil {
		x.Way = &way{Env: e.Way.Env}
	}
	return x
}

func (x *exec) real() box.Exec {
	e := box.Exec{
		Session: x.Session, Argv: toTexts(x.Argv), Env: toTexts(x.Env), Dir: x.Dir, Own: x.Own, Furnish: x.Furnish,
		Repo: x.Repo, Fill: x.Fill, ReadOnly: x.ReadOnly, View: x.View, Aside: x.Aside,
		Limits: x.Limits, Etc: x.Etc,
	}
	for _, path := range x.Binds {
		e.Binds = append(e.Binds, box.Bind{Path: path})
	}
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

// decodeLine reads one JSON value strictly: an unknown field means that the two sides have different versions.
func decodeLine(d *json.Decoder, v any) error {
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}

// sizeOf is a terminal's size, nil if it has none.
func sizeOf(tty *os.File, get func(*os.File) (rows, cols int, err error)) *size {
	rows, cols, err := get(tty)
	if err != nil {
		return &size{Rows: 24, Cols: 80}
	}
	return &size{Rows: uint16(rows), Cols: uint16(cols)} // a terminal's size fits
}
