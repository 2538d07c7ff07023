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

// maxPlan is the largest plan that is read.
const maxPlan = 16 << 20

// Options are the settings of a Run.
type Options struct {
	Plan      string // a path, relative to Workspace unless absolute
	Workspace string // a git worktree, whose name is the session's id
	Exchange  string
	Out       io.Writer // progress, and the output of the fences
	Err       io.Writer
	Env       []string // the whole environment of the fences; nil inherits ours
	// Leave leaves the tasks' changes uncommitted: in a phase the collector commits them, and a reviewer can't.
	Leave bool
}

// Failure is a task that did not succeed.
type Failure struct {
	Task   Task
	Fence  int // counted from 1; 0 is the commit after the last
	Line   int // the line in the plan
	Err    error
	Output string // the last lines of the output
}

func (f *Failure) Error() string {
	step := "commit"
	if f.Fence > 0 {
		step = fmt.Sprintf("fence %d", f.Fence)
	}
	return fmt.Sprintf("%s (plan line %d): %s: %v", f.Task.Title, f.Line, step, f.Err)
}

func (f *Failure) Unwrap() error { return f.Err }

// Run carries out the plan. If it is started again after an interruption it continues after the last committed task. It
// also writes every error but the end of ctx to the exchange directory, completely or not at all.
func Run(ctx context.Context, o Options) error {
	words := filepath.Join(o.Exchange, ErrorFile)
	if err := os.Remove(words); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("script: %w", err) // an earlier run's message would end the wait for this one
	}
	err := run(ctx, o)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if werr := whole.Write(words, []byte(report(err)), 0o600); werr != nil {
		return errors.Join(err, fmt.Errorf("script: %w", werr))
	}
	return err
}

func run(ctx context.Context, o Options) error {
	tasks, err := load(o)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "cco-script-")
	if err != nil {
		return fmt.Errorf("script: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := openStreams(o.Out, o.Err)
	if err != nil {
		return fmt.Errorf("script: %w", err)
	}
	// This is named like the plan, because bash begins its complaints with this name.
	r := &runner{o: o, streams: s, file: filepath.Join(dir, filepath.Base(o.Plan))}
	err = r.tasks(ctx, tasks)
	s.close()
	if f, ok := errors.AsType[*Failure](err); ok {
		f.Output = s.tail()
	}
	return err
}

func load(o Options) ([]Task, error) {
	name := o.Plan
	if !filepath.IsAbs(name) {
		name = filepath.Join(o.Workspace, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxPlan+1))
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	if len(data) > maxPlan {
		return nil, fmt.Errorf("read plan: %s is larger than %d bytes", o.Plan, maxPlan)
	}
	tasks, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read plan %s: %w", o.Plan, err)
	}
	return tasks, nil
}

type runner struct {
	o       Options
	streams *streams
	file    string // the fence that runs
	at      string // the commit that is checked out
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
	for i, f := range t.Fences {
		if err := r.fence(ctx, f); err != nil {
			return &Failure{Task: t, Fence: i + 1, Line: f.Line, Err: err}
		}
	}
	if r.o.Leave {
		return nil
	}
	commit, err := r.commit(ctx, t)
	if err != nil {
		return &Failure{Task: t, Line: t.Line, Err: err}
	}
	before := r.at
	r.at = r.head(ctx)
	switch {
	case commit:
		r.say("%s: committed %.12s", t.Title, r.at)
	case r.at != before:
		r.say("%s: committed by itself, now at %.12s", t.Title, r.at)
	default:
		r.say("%s: nothing changed", t.Title)
	}
	return nil
}

// fence runs shell from a file, so that its standard input is empty and its length unlimited. Empty lines stand for the
// text before it in the plan, so that bash reports the plan's own line numbers.
func (r *runner) fence(ctx context.Context, f Fence) error {
	shell := strings.Repeat("\n", f.Line-1) + f.Script
	if err := os.WriteFile(r.file, []byte(shell), 0o600); err != nil {
		return err
	}
	return how(r.start(ctx, proc.Cmd{Argv: []string{"bash", "-e", r.file}}))
}

// start runs a program on the streams. It waits for the program, not for background processes: the box ends with the
// session, and a later fence may need a server that an earlier one has started.
func (r *runner) start(ctx context.Context, c proc.Cmd) error {
	c.Dir, c.Env = r.o.Workspace, r.o.Env
	c.Stdout, c.Stderr = r.streams.out.w, r.streams.err.w
	c.Grace = 5 * time.Second
	return proc.Run(ctx, c)
}

// how leaves out the argv of a fence, which helps nobody.
func how(err error) error {
	e, ok := errors.AsType[*proc.ExitError](err)
	if !ok {
		return err
	}
	if e.Signal != 0 {
		return &exit{e, "killed by " + e.Signal.String()}
	}
	return &exit{e, fmt.Sprintf("exit status %d", e.Code)}
}

type exit struct {
	err  *proc.ExitError
	text string
}

func (e *exit) Error() string { return e.text }
func (e *exit) Unwrap() error { return e.err }

func (r *runner) say(format string, args ...any) {
	// This uses the same pipe as the fences' output, so that the order is kept.
	_, _ = fmt.Fprintf(r.streams.out.w, event.AsideMark+format+"\n", args...)
}

// report is the text of error.txt.
func report(err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n", err)
	if f, ok := errors.AsType[*Failure](err); ok && f.Output != "" {
		fmt.Fprintf(&b, "\nThe last lines of output:\n\n%s\n", strings.TrimRight(f.Output, "\n"))
	}
	return b.String()
}
