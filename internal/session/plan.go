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

func (s *Service) findPlan(ctx context.Context, repo *git.Repo, head git.Head, o PushOptions) (plan, error) {
	if o.Message != "" {
		return plan{text: []byte(o.Message + "\n")}, nil
	}
	path := o.Plan
	if !filepath.IsAbs(path) {
		path = filepath.Join(o.Dir, path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return plan{}, &PlanError{Path: o.Plan}
	case err != nil:
		return plan{}, &PlanError{Path: o.Plan, Err: err}
	case !info.Mode().IsRegular():
		return plan{}, &PlanError{Path: o.Plan, Err: errors.New("not a regular file")}
	case info.Size() > maxPlan:
		return plan{}, &PlanError{Path: o.Plan, Err: fmt.Errorf("%d bytes, more than %d", info.Size(), maxPlan)}
	}
	f, err := repo.FileAt(ctx, head.Commit, path)
	if err != nil {
		return plan{}, &PlanError{Path: o.Plan, Err: err}
	}
	text, err := os.ReadFile(path)
	if err != nil {
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
func (s *Service) placePlan(id string, p plan) (string, error) {
	if p.rel != "" {
		return p.rel, nil
	}
	// The agent can change what is in the exchange; what it was given is kept.
	return SentPlan, errors.Join(whole.Write(s.sentFile(id), p.text, 0o600),
		whole.Write(filepath.Join(s.Exchange(id), inside.PlanFile), p.text, 0o644)) // for the agent
}

func (s *Service) sentFile(id string) string { return filepath.Join(s.dir(id), "sent.md") }

// Sent is the plan that was last sent to a session, at most so many bytes of it: "" if it is not known any more.
func (s *Service) Sent(ctx context.Context, v store.Session, most int) (string, error) {
	if v.Plan != SentPlan {
		repo, err := git.Open(ctx, v.Repo)
		if err != nil || v.Plan == "" || filepath.IsAbs(v.Plan) {
			return "", err
		}
		return repo.TextAt(ctx, v.Origin, v.Plan, most)
	}
	f, err := os.Open(s.sentFile(v.ID))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
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
