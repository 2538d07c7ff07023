package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// The steps that cco-box does in a box.
const (
	stepReceive = "receive"
	stepLend    = "lend"
	stepPublish = "publish"
)

// PublishTime bounds publishing, which a hostile workspace could prolong.
const PublishTime = 10 * time.Minute

// Receive clones what was sent into a session's workspace. If the box has lost its objects, everything is sent again.
func (s HandOff) Receive(ctx context.Context, b *box.Box, d box.Driver, rec store.Session, p box.Place,
	shallow bool, step box.Report) (box.Place, error) {
	step("cloning into %s", p.Workspace)
	p, err := s.receive(ctx, b, d, rec, p, stepReceive, step)
	if err != nil {
		return p, fmt.Errorf("clone into the box: %w", err)
	}
	if shallow {
		return p, nil
	}
	return p, s.Store.MarkSent(ctx, rec.Box, rec.RepoKey, rec.Base, s.Now())
}

// receive has the box take what was sent, and sends everything if the box lacks what that builds on.
func (s HandOff) receive(ctx context.Context, b *box.Box, d box.Driver, rec store.Session, p box.Place, what string,
	step box.Report) (box.Place, error) {
	err := s.inside(ctx, b, d, rec, p, what, inside.What{})
	if proc.Code(err) == inside.LacksStatus {
		step("sending everything: the box no longer has what it had")
		if err := s.Store.ForgetSent(ctx, rec.Box, rec.RepoKey); err != nil {
			return p, err
		}
		if err := s.sendAll(ctx, rec, Where{}); err != nil {
			return p, err
		}
		if p, err = d.Prepare(ctx, b, rec.ID); err != nil {
			return p, err
		}
		err = s.inside(ctx, b, d, rec, p, what, inside.What{})
	}
	if err != nil {
		return p, err
	}
	return p, s.Clear(rec.ID, inside.InputBundle, inside.InputRepo)
}

// inside runs one of cco's own steps in the box. What is for publishing.
func (s HandOff) inside(ctx context.Context, b *box.Box, d box.Driver, rec store.Session, p box.Place, step string,
	what inside.What) error {
	order, err := s.ReadOrder(rec.ID)
	if err != nil {
		return err
	}
	job, err := json.Marshal(inside.Job{
		Session: rec.ID, Workspace: p.Workspace, Exchange: p.Exchange, Store: p.Store, Branch: rec.Branch, Base: rec.Base,
		Name: order.Name, Email: order.Email, Format: order.Format, Message: order.Message,
		MaxFile: s.MaxFile, Shallow: order.Shallow, What: what,
	})
	if err != nil {
		return err
	}
	return d.Run(ctx, b, box.Exec{
		Session: rec.ID, Argv: []string{p.Tool, step}, Stdin: bytes.NewReader(job), Own: true, Repo: rec.RepoKey,
		Fill: step != stepPublish,
		Dir:  "/", // an agent may have closed its workspace
	})
}

// Publish writes the session's work into its exchange directory, inside the box, and records what there is.
func (s HandOff) Publish(ctx context.Context, b *box.Box, d box.Driver, rec store.Session) error {
	err := s.startLook(rec.ID)
	if err == nil {
		err = s.PublishAs(ctx, b, d, rec, inside.What{})
	}
	// A failure that the workspace did not cause says nothing about what is in it.
	if ctx.Err() == nil && (err == nil || as[*UnreadableError](err)) {
		_ = s.recordLeft(rec, s.seen(rec, err))
	}
	return err
}

// PublishAs writes what is asked for into the exchange directory.
func (s HandOff) PublishAs(ctx context.Context, b *box.Box, d box.Driver, rec store.Session, what inside.What) error {
	ctx, cancel := context.WithTimeout(ctx, PublishTime)
	defer cancel()
	if err := errors.Join(s.halt(ctx, b, d, rec.ID), s.reopen(rec.ID)); err != nil {
		return err
	}
	p, err := d.Prepare(ctx, b, rec.ID)
	if err == nil {
		err = s.inside(ctx, b, d, rec, p, stepPublish, what)
	}
	if as[*proc.ExitError](err) {
		why := err.Error()
		if _, words, ok := strings.Cut(why[max(0, strings.LastIndex(why, "publish: ")):], "publish: "); ok {
			why = words
		}
		return &UnreadableError{ID: rec.ID, Why: FirstLine(why)}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &UnreadableError{ID: rec.ID, Why: "it takes too long"}
	}
	return err
}

// UnreadableError says that git can't read what a session has left. All of it stays.
type UnreadableError struct {
	ID, Why string
	Buried  bool // it is in the graveyard already
}

func (e *UnreadableError) Error() string {
	move := "`cco box prune " + e.ID + " --force` moves it to the graveyard, and "
	if e.Buried {
		move = ""
	}
	return fmt.Sprintf("git can't read the workspace of session %s: %s\nall of it is kept as it is: %s`cco box restore "+
		"%[1]s --files DIR` copies its files from there", e.ID, e.Why, move)
}

// reopen lets cco into an exchange directory that an agent may have closed. What blocks a file in it is removed by the
// one who writes that.
func (s HandOff) reopen(id string) error {
	dir := s.Exchange(id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err == nil && info.Mode().Perm()&0o700 != 0o700 {
		err = os.Chmod(dir, 0o700) // a directory
	}
	return err
}

// Clear removes files of an exchange directory, whatever an agent has made of them.
func (s HandOff) Clear(id string, names ...string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, tree.Remove(filepath.Join(s.Exchange(id), name)))
	}
	return errors.Join(errs...)
}

// SendBase brings a session's base to the store that its workspace borrows from.
func (s HandOff) SendBase(ctx context.Context, b *box.Box, d box.Driver, repo *git.Repo, rec store.Session) error {
	if err := s.Send(ctx, repo, rec, false, 0); err != nil {
		return err
	}
	p, err := d.Prepare(ctx, b, rec.ID)
	if err == nil {
		_, err = s.receive(ctx, b, d, rec, p, stepLend, s.Report)
	}
	return err
}
