// Package script carries out a plan without a model: it runs the shell fences below each `Task N` heading and makes one
// commit of a task's changes. It stops at the first failure and writes its message to the exchange directory.
package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/whole"
)

// ErrorFile is the file in the exchange directory that holds the message of a failure.
const ErrorFile = "error.txt"

// Options are the settings of a Run.
type Options struct {
	Plan      string // a path, relative to Workspace unless absolute
	Workspace string // a git worktree, whose name is the session's id
	Exchange  string
	Out       io.Writer // progress, and the output of the fences
	Err       io.Writer
	Env       []string // the whole environment of the fences
	// Leave leaves the tasks' changes uncommitted: in a phase the collector commits them, and a reviewer can't.
	Leave bool
}

// Run carries out the plan. If it is started again after an interruption it continues after the last committed task. It
// also writes every error but the end of ctx to the exchange directory, completely or not at all.
func Run(ctx context.Context, o Options) error {
	words := filepath.Join(o.Exchange, ErrorFile)
	if err := os.Remove(words); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("script: %w", err) // an earlier run's message would end the wait for this one
	}
	said, err := run(ctx, o)
	if err == nil || ctx.Err() != nil {
		return err
	}
	text := fmt.Sprintf("%v\n", err)
	if said != "" {
		text += fmt.Sprintf("\nThe last lines of output:\n\n%s\n", strings.TrimRight(said, "\n"))
	}
	if werr := whole.Write(words, []byte(text), 0o600); werr != nil {
		return errors.Join(err, fmt.Errorf("script: %w", werr))
	}
	return err
}

// run also gives the last lines of output of a task that failed.
func run(ctx context.Context, o Options) (said string, err error) {
	name := o.Plan
	if !filepath.IsAbs(name) {
		name = filepath.Join(o.Workspace, name)
	}
	plan, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read plan: %w", err)
	}
	tasks, err := Parse(plan)
	if err != nil {
		return "", fmt.Errorf("read plan %s: %w", o.Plan, err)
	}
	dir, err := os.MkdirTemp("", "cco-script-")
	if err != nil {
		return "", fmt.Errorf("script: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s := &streams{last: proc.Tail{Max: tailBytes}}
	out, err := s.open(o.Out)
	if err == nil {
		// The file is named like the plan, because bash begins its complaints with this name.
		r := &runner{o: o, out: out, file: filepath.Join(dir, filepath.Base(o.Plan))}
		if r.err, err = s.open(o.Err); err == nil {
			err = r.tasks(ctx, tasks)
		}
	}
	s.close()
	return s.tail(), err
}

type runner struct {
	o        Options
	out, err io.Writer
	file     string // the fence that runs
}

func (r *runner) tasks(ctx context.Context, tasks []Task) error {
	done := map[string]string{}
	if !r.o.Leave {
		var err error
		if done, err = r.committed(ctx); err != nil {
			return fmt.Errorf("find tasks that are done: %w", err)
		}
	}
	for _, t := range tasks {
		if commit := done[r.trailer(t)]; commit != "" {
			r.say("%s: done in %.12s", t.Title, commit)
			continue
		}
		if err := r.task(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) task(ctx context.Context, t Task) error {
	r.say("%s", t.Title)
	before := r.head(ctx)
	for i, f := range t.Fences {
		if err := r.fence(ctx, f); err != nil {
			return fmt.Errorf("%s (plan line %d): fence %d: %w", t.Title, f.Line, i+1, err)
		}
	}
	if r.o.Leave {
		return nil
	}
	commit, err := r.commit(ctx, t)
	if err != nil {
		return fmt.Errorf("%s (plan line %d): commit: %w", t.Title, t.Line, err)
	}
	switch now := r.head(ctx); {
	case commit:
		r.say("%s: committed %.12s", t.Title, now)
	case now != before:
		r.say("%s: committed by itself, now at %.12s", t.Title, now)
	default:
		r.say("%s: nothing changed", t.Title)
	}
	return nil
}

// fence runs shell from a file, so that its standard input is empty and its length unlimited. Empty lines stand for the
// text before it in the plan, so that bash reports the plan's own line numbers. It waits for the shell, not for
// background processes: the box ends with the session, and a later fence may need a server that an earlier one has
// started.
func (r *runner) fence(ctx context.Context, f Fence) error {
	shell := strings.Repeat("\n", f.Line-1) + f.Script
	if err := os.WriteFile(r.file, []byte(shell), 0o600); err != nil {
		return err
	}
	err := proc.Run(ctx, proc.Cmd{Argv: []string{"bash", "-e", r.file}, Dir: r.o.Workspace, Env: r.o.Env, Stdout: r.out,
		Stderr: r.err, Grace: 5 * time.Second})
	if e, ok := errors.AsType[*proc.ExitError](err); ok {
		e.Argv = nil // it helps nobody
		return errors.New(strings.TrimPrefix(e.Error(), ": "))
	}
	return err
}

func (r *runner) say(format string, args ...any) {
	// This uses the same pipe as the fences' output, so that the order is kept.
	_, _ = fmt.Fprintf(r.out, event.AsideMark+format+"\n", args...)
}
