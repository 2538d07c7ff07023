// Package audit keeps logs of what a user must be able to look up: what the guard denied, what the canary found, what
// was accepted at the gate or done on the page. They are JSON lines in one file that any number of processes append to.
// What agents send is untrusted: it is bounded, cleaned and stamped by the receiver.
package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/safetext"
)

// FileName is the log's name in cco's data directory. The file before it has ".1" at its end.
const FileName = "guard.log"

// The kinds of entries.
const (
	Denial  = "denial"  // the hook refused a call
	Noted   = "noted"   // it would have, and the kernel holds the agent
	Canary  = "canary"  // the host repository changed
	Dropped = "dropped" // more was reported than is written down

	Accepted = "accepted" // a user took what the gate held up
)

// Entry is one line of the log.
type Entry struct {
	Time    time.Time       `json:"time"`
	Session string          `json:"session,omitempty"`
	Kind    string          `json:"kind"`
	Agent   string          `json:"agent,omitempty"`
	Who     string          `json:"who,omitempty"`
	Rule    string          `json:"rule,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Cwd     string          `json:"cwd,omitempty"`
	Tool    string          `json:"tool_name,omitempty"`
	Input   json.RawMessage `json:"tool_input,omitempty"`
	Part    string          `json:"part,omitempty"`
	Path    string          `json:"path,omitempty"`
}

// Bounds of one entry and of the file, of which one older one is kept.
const (
	maxText  = 2 << 10
	maxInput = 4 << 10
	maxFile  = 8 << 20
)

// Log appends entries to a file.
type Log struct {
	File string
	Now  func() time.Time
	Max  int64 // size at which a new file is begun; 0 is a default
}

// Open gives the log of a data directory.
func Open(data string, now func() time.Time) *Log {
	return &Log{File: filepath.Join(data, FileName), Now: now}
}

// Add writes an entry whole, even while others write.
func (l *Log) Add(e Entry) error {
	if e.Time.IsZero() {
		e.Time = l.Now()
	}
	e.Time = e.Time.UTC()
	line, err := json.Marshal(e.clean())
	if err != nil {
		return err
	}
	f, err := l.open()
	if err == nil {
		_, err = f.Write(append(line, '\n'))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("write the guard's log: %w", err)
	}
	return nil
}

// open gives the file, locked and with room in it. Closing it unlocks it.
func (l *Log) open() (*os.File, error) {
	for {
		f, err := os.OpenFile(l.File, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		err = lock(f)
		if err == nil {
			var full, moved bool
			if full, moved, err = l.look(f); err == nil && !full && !moved {
				return f, nil
			}
			if err == nil && full && !moved {
				err = os.Rename(l.File, l.File+".1")
			}
		}
		_ = f.Close() // nothing was written to it
		if err != nil {
			return nil, err
		}
	}
}

func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// look says whether the file has no more room, and whether somebody else has moved it away meanwhile.
func (l *Log) look(f *os.File) (full, moved bool, err error) {
	here, err := f.Stat()
	if err != nil {
		return false, false, err
	}
	there, err := os.Lstat(l.File)
	if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(here, there) {
		return false, true, nil
	}
	limit := l.Max
	if limit == 0 {
		limit = maxFile
	}
	return here.Size() >= limit, false, err
}

// clean makes an entry fit to be kept and shown, whatever an agent has put into it.
func (e Entry) clean() Entry {
	for _, s := range []*string{
		&e.Session, &e.Kind, &e.Agent, &e.Who, &e.Rule, &e.Reason, &e.Cwd, &e.Tool, &e.Part, &e.Path,
	} {
		*s = safetext.Cut(safetext.Text(*s), maxText)
	}
	if len(e.Input) > maxInput || !json.Valid(e.Input) {
		e.Input = nil
	}
	return e
}
