package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/whole"
)

// PlanError says that there is no plan to hand over.
type PlanError struct {
	Path string
	Err  error // nil where there is simply no such file
}

func (e *PlanError) Error() string {
	if e.Err == nil {
		return "plan file not found: " + e.Path
	}
	return fmt.Sprintf("plan %s: %v", e.Path, e.Err)
}

func (e *PlanError) Unwrap() error { return e.Err }

// plan is a plan that was found and can be sent.
type plan struct {
	rel  string // where the clone has it; "" when it travels as a file
	here string // where the worktree has it; "" when it comes from elsewhere
	text []byte
}

// maxPlan bounds a plan; what is larger is surely another file.
const maxPlan = 4 << 20

func (s HandOff) findPlan(ctx context.Context, repo *git.Repo, head git.Head, o PushOptions) (plan, error) {
	if o.Message != "" {
		return plan{text: []byte(o.Message + "\n")}, nil
	}
	typed, err := asTyped(o.Dir, o.Plan)
	var f git.File
	if err == nil {
		f, err = repo.FileAt(ctx, head.Commit, typed)
	}
	if err == nil && f.State != git.FileCommitted && f.Real != typed {
		err = fmt.Errorf("it is a link to %s: name that path if the agent is to have the file", safetext.Line(f.Real))
	}
	var text []byte
	if err == nil {
		text, err = readPlan(repo.Top, f)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return plan{}, &PlanError{Path: o.Plan}
	case err != nil:
		return plan{}, &PlanError{Path: o.Plan, Err: err}
	}
	switch f.State {
	case git.FileOutside:
		return plan{text: text}, nil
	case git.FileCommitted:
		return plan{rel: f.Path, here: f.Path, text: text}, nil
	default:
		s.Warn("plan %s is not committed as it stands, so it is sent along as a file", safetext.Line(o.Plan))
		return plan{here: f.Path, text: text}, nil
	}
}

// asTyped is where a plan is by its name, with no link followed but on the way to dir, and the system's own in the root
// directory. Of links in a repository that was cloned, a stranger decides where they lead, and the agent gets what is
// there: they may lead to what the clone has anyway.
func asTyped(dir, name string) (string, error) {
	if filepath.IsAbs(name) {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			name = rel
		} else {
			first, rest, _ := strings.Cut(filepath.Clean(name)[1:], "/")
			dir, name = "/"+first, rest
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	return filepath.Join(real, name), err
}

// readPlan reads a file of a repository, or the one beside it that was named: by then nothing else may be in its place.
func readPlan(top string, f git.File) ([]byte, error) {
	name := filepath.FromSlash(f.Path)
	if f.State == git.FileOutside {
		top, name = filepath.Split(f.Real)
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("not a regular file"))
	}
	text, err := io.ReadAll(io.LimitReader(file, maxPlan+1))
	if len(text) > maxPlan {
		err = fmt.Errorf("more than %d bytes", maxPlan)
	}
	return text, err
}

// ReadPlan reads a plan from a stream.
func ReadPlan(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPlan+1))
	switch {
	case err != nil:
		return "", &PlanError{Path: "-", Err: err}
	case len(text) > maxPlan:
		return "", &PlanError{Path: "-", Err: fmt.Errorf("more than %d bytes", maxPlan)}
	case len(bytes.TrimSpace(text)) == 0:
		return "", &PlanError{Path: "-", Err: errors.New("nothing was written to standard input")}
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}

// SentPlan stands for a plan that was sent along as a file, wherever the box shows it.
const SentPlan = "/exchange/" + inside.PlanFile

// placePlan says where the agent finds the plan, and puts it into the exchange directory if the clone doesn't have it.
func (s HandOff) placePlan(id string, p plan) (string, error) {
	if p.rel != "" {
		return p.rel, nil
	}
	return s.PlacePlan(id, p.text)
}

// PlacePlan puts a plan into the exchange directory, and says where the agent finds it.
func (s HandOff) PlacePlan(id string, text []byte) (string, error) {
	// The agent can change what is in the exchange; what it was given is kept.
	return SentPlan, errors.Join(whole.Write(s.sentFile(id), text, 0o600),
		whole.Write(filepath.Join(s.Exchange(id), inside.PlanFile), text, 0o644)) // for the agent
}

func (s *Service) sentFile(id string) string { return filepath.Join(s.Dir(id), "sent.md") }

// Sent is the plan that was last sent to a session, at most so many bytes of it: "" if it is not known any more.
func (s Looking) Sent(v store.Session, most int) (string, error) {
	file := s.planFile(v.ID)
	if v.Plan == SentPlan {
		file = s.sentFile(v.ID)
	}
	f, err := os.Open(file)
	if err != nil {
		return "", ignoreMissing(err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, int64(most)))
	return string(text), err
}

// title is the plan's first heading or line, for listings.
func title(text []byte) string {
	for line := range strings.Lines(string(text[:min(len(text), 4096)])) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		if line == "" || line == "---" {
			continue
		}
		return safetext.Fit(safetext.Line(line), 60)
	}
	return ""
}
