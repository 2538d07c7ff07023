package canary

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Dir is where the canary of one session keeps what it needs, in the directory of its box.
func Dir(boxDir, id string) string { return filepath.Join(boxDir, "canary", id) }

// Drop removes what the canary of a session has kept.
func Drop(dir string) error { return os.RemoveAll(dir) }

// Pending says whether a shot waits to be compared: its watcher died.
func Pending(dir string) bool {
	_, shot := os.Lstat(filepath.Join(dir, shotFile))
	_, report := os.Lstat(filepath.Join(dir, reportFile))
	return shot == nil && errors.Is(report, fs.ErrNotExist)
}

// Sessions lists the sessions whose canary has kept something in a box.
func Sessions(boxDir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(boxDir, "canary"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids, err
}

func saveReport(dir string, r Report) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write the canary's report: %w", err)
	}
	if err := writeJSON(filepath.Join(dir, reportFile), r); err != nil {
		return fmt.Errorf("write the canary's report: %w", err)
	}
	return nil
}

// ReadReport gives what the canary of a session found; nil if there is nothing to tell.
func ReadReport(dir string) (*Report, error) {
	r := &Report{}
	err := readJSON(filepath.Join(dir, reportFile), r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the canary's report: %w", err)
	}
	return r, nil
}

// Thaw opens what a session has frozen, and records how.
func Thaw(boxDir, id string, how Resolution) error {
	r, err := ReadReport(Dir(boxDir, id))
	if err != nil {
		r = &Report{Session: id, Findings: []Finding{Unreadable(err)}}
	}
	if r == nil {
		return nil
	}
	r.Frozen, r.Resolved = false, how
	return saveReport(Dir(boxDir, id), *r)
}

// Resolution is how a frozen box was opened again.
type Resolution string

// The ways to open a frozen box.
const (
	Undone   Resolution = "undone"
	Accepted Resolution = "accepted"
)

// Frozen gives the reports that keep a box closed. An unreadable report counts as one.
func Frozen(boxDir string) ([]Report, error) {
	ids, err := Sessions(boxDir)
	if err != nil {
		return nil, fmt.Errorf("read the canary's reports: %w", err)
	}
	var list []Report
	for _, id := range ids {
		r, err := ReadReport(Dir(boxDir, id))
		switch {
		case err != nil:
			list = append(list, Report{Session: id, Frozen: true, Findings: []Finding{Unreadable(err)}})
		case r != nil && r.Frozen:
			r.Session = id
			list = append(list, *r)
		}
	}
	return list, nil
}

// Check refuses a box that is frozen, with a *FrozenError.
func Check(boxDir, name string) error {
	list, err := Frozen(boxDir)
	if err != nil {
		return fmt.Errorf("box %s: %w", name, err)
	}
	if len(list) == 0 {
		return nil
	}
	return &FrozenError{Box: name, Reports: list}
}

// FrozenError says that a box is closed until somebody has looked at what was found.
type FrozenError struct {
	Box     string
	Reports []Report
}

func (e *FrozenError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "box %s is frozen:", e.Box)
	for i, r := range e.Reports {
		if i > 0 {
			b.WriteString(";")
		}
		fmt.Fprintf(&b, " session %s: %s, look with `cco guard canary %s`", r.Session, Count(len(r.Grave())), r.Session)
	}
	b.WriteString(", then undo or accept it")
	return b.String()
}

// WrongState marks it as something that the user can change.
func (e *FrozenError) WrongState() {}

// Count says how much was found, in words.
func Count(n int) string {
	if n == 1 {
		return "1 change to your repository that was not its to make"
	}
	return fmt.Sprintf("%d changes to your repository that were not its to make", n)
}
