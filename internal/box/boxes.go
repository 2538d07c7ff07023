package box

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// Boxes manages all boxes of one data directory.
type Boxes struct {
	Data    string            // boxes/<name> and exchange/<id> are below it
	Drivers map[string]Driver // by backend
	Now     func() time.Time
	Files   func() []File // the files for a box's home; nil means none
	// Way opens a way out for a box's setup commands. If it is nil, they have none.
	Way func(ctx context.Context, b *Box) (way *Way, done func(), err error)
	// Usual is the box that commands mean if none is named; errors about it give commands without a name.
	Usual func() string
}

// Status describes a box in a listing.
type Status struct {
	Name    string    `json:"name"`
	Backend string    `json:"backend"`
	State   string    `json:"state"` // running, stopped, or unfinished or unknown with a reason
	Detail  string    `json:"detail,omitempty"`
	Created time.Time `json:"created"`
	Network string    `json:"network"` // the mode
	Spec    Spec      `json:"spec"`
	Layers  []Layer   `json:"layers,omitempty"`
}

// Dir is where a box is kept.
func (s *Boxes) Dir(name string) string { return filepath.Join(s.Data, "boxes", name) }

// Exchange is the parent of all exchange directories.
func (s *Boxes) Exchange() string { return filepath.Join(s.Data, "exchange") }

// Driver finds a backend.
func (s *Boxes) Driver(backend string) (Driver, error) {
	if d, ok := s.Drivers[backend]; ok {
		return d, nil
	}
	names := make([]string, 0, len(s.Drivers))
	for n := range s.Drivers {
		names = append(names, n)
	}
	slices.Sort(names)
	return nil, &UnknownBackendError{Name: backend, Known: names}
}

// UnknownBackendError names a backend that this cco doesn't have.
type UnknownBackendError struct {
	Name  string
	Known []string
}

func (e *UnknownBackendError) Error() string {
	return fmt.Sprintf("no backend %q: there are %v", e.Name, e.Known)
}

// Find reads the record of a box that must exist.
func (s *Boxes) Find(name string) (*Box, Driver, error) {
	b, err := s.Record(name)
	if err != nil {
		return nil, nil, err
	}
	d, err := s.Driver(b.Backend)
	return b, d, err
}

func (s *Boxes) usual(name string) bool { return s.Usual != nil && s.Usual() == name }

// Record reads the record alone, which needs no driver.
func (s *Boxes) Record(name string) (*Box, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(s.Dir(name), "box.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, &NotFoundError{Name: name, Usual: s.usual(name)}
	}
	if err != nil {
		return nil, fmt.Errorf("box %s: %w", name, err)
	}
	b := &Box{Dir: s.Dir(name), Exchange: s.Exchange()}
	if err := json.Unmarshal(data, b); err != nil {
		return nil, fmt.Errorf("box %s: read its record: %w", name, err)
	}
	return b, nil
}

// Ready finds a box that must be running. Its errors tell users what to do.
func (s *Boxes) Ready(ctx context.Context, name string) (*Box, Driver, error) {
	b, d, err := s.Find(name)
	if err != nil {
		return nil, nil, err
	}
	if err := b.finished(); err != nil {
		return nil, nil, err
	}
	running, err := d.Running(ctx, b)
	if err != nil {
		return nil, nil, fmt.Errorf("box %s: %w", name, err)
	}
	if !running {
		return nil, nil, &NotRunningError{Name: name, Usual: s.usual(name)}
	}
	return b, d, nil
}

// Create makes a box and leaves it running. It starts a box that exists and continues a creation that was interrupted;
// it refuses a box that exists with another backend.
func (s *Boxes) Create(ctx context.Context, name, backend string, spec Spec, report Report) (made bool, err error) {
	if err := CheckName(name); err != nil {
		return false, err
	}
	d, err := s.Driver(backend)
	if err != nil {
		return false, err
	}
	return made, s.locked(ctx, name, func() error {
		b, _, err := s.Find(name)
		switch missing := (*NotFoundError)(nil); {
		case err == nil && b.Backend != backend:
			return &ConflictError{Name: name, Backend: b.Backend}
		case err == nil && !b.Unfinished:
			b.Spec.RequireKernel = b.Spec.RequireKernel || spec.RequireKernel
			return s.start(ctx, b, d, report)
		case err != nil && !errors.As(err, &missing):
			return err
		}
		made = true
		b = &Box{Name: name, Backend: backend, Created: s.Now().UTC(), Spec: spec, Dir: s.Dir(name), Exchange: s.Exchange()}
		return s.create(ctx, b, d, report)
	})
}

// create undoes its work if any part of it fails. It writes the record first: if there is no time to undo, the record
// shows what is left.
func (s *Boxes) create(ctx context.Context, b *Box, d Driver, report Report) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.remove(context.WithoutCancel(ctx), b, d))
		}
	}()
	for _, dir := range []string{b.Dir, b.Exchange} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	b.Unfinished = true
	if err := save(b); err != nil {
		return err
	}
	if err := d.Create(ctx, b, report); err != nil {
		return fmt.Errorf("create box %s: %w", b.Name, err)
	}
	b.Unfinished = false
	return s.provision(ctx, b, d, report)
}

// provision puts the files of this build into a box's home, runs the box's setup commands and records the version.
func (s *Boxes) provision(ctx context.Context, b *Box, d Driver, report Report) error {
	files, version := s.files()
	if err := s.withWay(ctx, b, func() error { return d.Provision(ctx, b, files, report) }); err != nil {
		return fmt.Errorf("provision box %s: %w", b.Name, err)
	}
	b.Provisioned = version
	return save(b)
}

// files are the files of this build, with a version that changes whenever one of them does.
func (s *Boxes) files() (list []File, version string) {
	if s.Files == nil {
		return nil, ""
	}
	list = s.Files()
	h := sha256.New()
	for _, f := range list {
		_, _ = fmt.Fprintf(h, "%s\n%o\n%d\n%s", f.Path, f.Mode, len(f.Data), f.Data)
	}
	return list, hex.EncodeToString(h.Sum(nil))[:16]
}

// remove deletes the record of a box only when nothing else of the box is left.
func (s *Boxes) remove(ctx context.Context, b *Box, d Driver) error {
	if err := d.Destroy(ctx, b); err != nil {
		return fmt.Errorf("destroy box %s: %w", b.Name, err)
	}
	return tree.Remove(b.Dir)
}

// finished refuses a box whose creation was interrupted.
func (b *Box) finished() error {
	if !b.Unfinished {
		return nil
	}
	return &StaleError{
		Name: b.Name, Why: "its creation is still running, or was broken off",
		Mend: "go on with `cco box create " + b.Name + " --backend " + b.Backend +
			"`, or remove what is there with `cco box destroy " + b.Name + "`",
	}
}

// ConflictError says that another box of that name exists.
type ConflictError struct{ Name, Backend string }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("box %s exists already, with backend %s: choose another name, or `cco box destroy %s` first",
		e.Name, e.Backend, e.Name)
}

// StaleError says that the state of a box is not what it should be, and what the user can do.
type StaleError struct {
	Name, Why, Mend string
	Gone            bool // everything that was in it is lost
}

func (e *StaleError) Error() string { return "box " + e.Name + ": " + e.Why + "; " + e.Mend }

// Start starts a box that exists.
func (s *Boxes) Start(ctx context.Context, name string, report Report) error {
	return s.with(ctx, name, func(b *Box, d Driver) error {
		if err := b.finished(); err != nil {
			return err
		}
		return s.start(ctx, b, d, report)
	})
}

func (s *Boxes) start(ctx context.Context, b *Box, d Driver, report Report) error {
	if err := d.Start(ctx, b, report); err != nil {
		return fmt.Errorf("start box %s: %w", b.Name, err)
	}
	return save(b)
}

// Stop ends everything that runs in a box.
func (s *Boxes) Stop(ctx context.Context, name string) error {
	return s.with(ctx, name, func(b *Box, d Driver) error {
		if err := d.Stop(ctx, b); err != nil {
			return fmt.Errorf("stop box %s: %w", name, err)
		}
		return save(b)
	})
}

// Destroy removes a box. The caller must first check what may be lost.
func (s *Boxes) Destroy(ctx context.Context, name string) error {
	return s.with(ctx, name, func(b *Box, d Driver) error { return s.remove(ctx, b, d) })
}

// Provision rewrites the home that sessions get a copy of.
func (s *Boxes) Provision(ctx context.Context, name string, report Report) error {
	return s.with(ctx, name, func(b *Box, d Driver) error {
		if err := b.finished(); err != nil {
			return err
		}
		return s.provision(ctx, b, d, report)
	})
}

// Refresh puts the files of this build into a box that has those of another build. It does not run the setup commands
// again: they are the user's, and may take long.
func (s *Boxes) Refresh(ctx context.Context, b *Box, report Report) (anew bool, err error) {
	files, version := s.files()
	if b.Provisioned == version {
		return false, nil
	}
	return true, s.with(ctx, b.Name, func(b *Box, d Driver) error {
		spec := b.Spec
		b.Spec.Setup = nil
		if err := d.Provision(ctx, b, files, report); err != nil {
			return fmt.Errorf("provision box %s: %w", b.Name, err)
		}
		b.Spec, b.Provisioned = spec, version
		return save(b)
	})
}

// Status reports the state of a box and its layers.
func (s *Boxes) Status(ctx context.Context, name string) (Status, error) {
	b, d, err := s.Find(name)
	if err != nil {
		return Status{}, err
	}
	st := s.state(ctx, b, d)
	if b.finished() != nil {
		return st, nil
	}
	st.Layers, err = d.Layers(ctx, b)
	return st, err
}

// state is a box's status without its layers: finding those may require building the box.
func (s *Boxes) state(ctx context.Context, b *Box, d Driver) Status {
	st := Status{Name: b.Name, Backend: b.Backend, Created: b.Created, Network: b.Spec.Mode(), Spec: b.Spec,
		State: "stopped"}
	if err := b.finished(); err != nil {
		st.State, st.Detail = "unfinished", err.Error()
		return st
	}
	running, err := d.Running(ctx, b)
	switch {
	case err != nil:
		st.State, st.Detail = "unknown", err.Error()
	case running:
		st.State = "running"
	}
	return st
}

// All gives the records of all boxes that are ready to be used, by name.
func (s *Boxes) All() (all []*Box, err error) {
	entries, err := os.ReadDir(filepath.Join(s.Data, "boxes"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if b, err := s.Record(e.Name()); err == nil && b.finished() == nil {
			all = append(all, b)
		}
	}
	return all, nil
}

// List reports the status of all boxes, by name.
func (s *Boxes) List(ctx context.Context) ([]Status, error) {
	entries, err := os.ReadDir(filepath.Join(s.Data, "boxes"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	list := []Status{}
	for _, e := range entries {
		b, d, err := s.Find(e.Name())
		if missing := (*NotFoundError)(nil); errors.As(err, &missing) || CheckName(e.Name()) != nil {
			continue // being made, or not ours
		}
		if err != nil {
			list = append(list, Status{Name: e.Name(), State: "unknown", Detail: err.Error()})
			continue
		}
		list = append(list, s.state(ctx, b, d))
	}
	return list, nil
}

func (s *Boxes) with(ctx context.Context, name string, do func(*Box, Driver) error) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return s.locked(ctx, name, func() error {
		b, d, err := s.Find(name)
		if err != nil {
			return err
		}
		return do(b, d)
	})
}

// locked keeps two commands from changing one box at the same time.
func (s *Boxes) locked(ctx context.Context, name string, do func() error) (err error) {
	dir := filepath.Join(s.Data, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(dir, "box-"+name))
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return fmt.Errorf("wait for another command on box %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return do()
}

func save(b *Box) error {
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return whole.Write(filepath.Join(b.Dir, "box.json"), append(data, '\n'), 0o600)
}
