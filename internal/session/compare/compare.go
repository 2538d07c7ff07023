// Package compare says what each of several sessions has made of the same plan, and checks it in its box.
package compare

import (
	"context"
	"os"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// Made is what a session made, for a comparison with others.
type Made struct {
	Session store.Session `json:"session"`
	Commits int           `json:"commits"`
	Files   int           `json:"files"`
	Added   int           `json:"added"`
	Deleted int           `json:"deleted"`
	Gate    gate.Report   `json:"gate"`
	Check   *Checked      `json:"check,omitempty"`
	Seconds float64       `json:"seconds"`         // how long its agent worked
	Stopped string        `json:"error,omitempty"` // why it can't be compared

	tip string
}

// Checked is how a check went in a session's box.
type Checked struct {
	Status  int     `json:"status"` // of the command
	Output  string  `json:"output"` // the end of it, on both streams
	Seconds float64 `json:"seconds"`
}

// Look says what a session has made, and what of it a person must know. It changes nothing.
func Look(ctx context.Context, s *session.Service, id string, o session.PullOptions) (c Made, err error) {
	rec, err := s.Get(ctx, id)
	if err != nil {
		return c, err
	}
	if !session.Settled(rec) {
		return c, &session.StateError{ID: id, State: rec.State,
			Why: "it is still at work: wait with `cco box wait " + id + "`"}
	}
	c.Session = rec
	if rec.Finished.After(rec.Started) {
		c.Seconds = rec.Finished.Sub(rec.Started).Round(time.Millisecond).Seconds()
	}
	err = s.Looking().Look(ctx, id, o, func(_ *git.Repo, made session.Changed) error {
		sum := made.Summary
		c.Commits, c.Files = len(sum.Commits)+sum.More, len(sum.Files)+sum.MoreFiles
		c.Added, c.Deleted, c.Gate, c.tip = sum.Added, sum.Deleted, made.Gate, made.Tip
		return nil
	})
	return c, err
}

// checkScript runs a command in a clone of a workspace's commit. Nothing that it writes is in the workspace.
const checkScript = `dir=$(mktemp -d) && cd "$dir" && git clone -q --shared --no-checkout -- "$1" check && cd check &&
git -c advice.detachedHead=false checkout -q --detach "$2" && exec /bin/sh -c "$3"`

// maxOutput is how much of a check's output is kept.
const maxOutput = 4 << 10

// Check runs a user's command on what a session has committed: in its box, where it sees the session's workspace
// read-only, has a home and changes to the box's caches that are thrown away, and no network. It never runs
// on the host.
func Check(ctx context.Context, s *session.Service, c *Made, command string) error {
	rec := c.Session
	b, d, err := s.Boxes.Ready(ctx, rec.Box)
	if err != nil {
		return err
	}
	if b.Spec.NoKernel() {
		return &session.StateError{ID: rec.ID, State: rec.State,
			Why: "in box " + b.Name + " programs run as you, so that --check is refused"}
	}
	if _, err := os.Stat(s.OrderFile(rec.ID)); err != nil {
		return &session.StateError{ID: rec.ID, State: rec.State, Why: "its workspace was removed"}
	}
	p, leave, err := s.Place(ctx, b, d, rec.ID)
	if err != nil {
		return err
	}
	leave()
	out, start := &proc.Tail{Max: maxOutput}, s.Now()
	err = d.Run(ctx, b, box.Exec{View: rec.ID, Aside: true, Repo: rec.RepoKey, Stdout: out, Stderr: out, Report: s.Report,
		Argv: []string{"/bin/sh", "-c", checkScript, "sh", p.Workspace, c.tip, command}})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && proc.Code(err) < 0 {
		return err
	}
	c.Check = &Checked{Status: proc.Code(err), Output: session.CleanLines(out.String()),
		Seconds: s.Now().Sub(start).Round(time.Millisecond).Seconds()}
	return nil
}
