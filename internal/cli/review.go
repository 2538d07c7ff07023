package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/keeping"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
)

// review shows what came and asks whether to take it, until that is clear.
func (r *round) review(ctx context.Context, now store.Session) (again bool, next store.Session, err error) {
	o := r.pull
	o.Partial = now.State != store.Done
	if o.Partial {
		r.IO.Fail(r.s.Looking().Failure(now))
	}
	look := o
	look.DryRun = true
	came, err := r.s.HandOff().Pull(ctx, now.ID, look)
	r.IO.Settle()
	if err != nil && !mendable(err) {
		return false, now, err
	}
	if err != nil { // it can still be looked at, and the obstacle be removed
		r.IO.Fail(err)
	}
	o.Seen = came.Seen()
	for {
		choice, err := r.ask(ctx, takeWhat(came)+" [a]ll [s]ome [d]iff [c]omment [l]ater [x] discard")
		if err != nil {
			return false, now, err
		}
		done := true
		switch strings.ToLower(strings.TrimSpace(choice)) {
		case "a":
			done, err = r.take(ctx, now, o)
		case "s":
			done, err = r.takeSome(ctx, now, came, o)
		case "d":
			done, err = false, r.look(ctx, now, o)
		case "c":
			if next, err = r.comment(ctx, now); err == nil && next.ID != "" {
				return true, next, nil
			}
			done = false
		case "l", "":
			r.kept(now)
		case "x":
			err = r.throwAway(ctx, now)
		default:
			r.IO.Say("one of a, s, d, c, l and x")
			done = false
		}
		switch {
		case err == nil && done:
			return false, now, nil
		case cut(err), err != nil && !mendable(err):
			return false, now, err
		case err != nil:
			r.IO.Fail(err)
		}
	}
}

// takeWhat is the question about what came.
func takeWhat(came session.PullResult) string {
	switch n := len(came.Summary.Commits) + came.Summary.More; n {
	case 0:
		return "Take this work?"
	case 1:
		return "Take this commit?"
	default:
		return "Take these " + count(n, "commit") + "?"
	}
}

// mendable says that what went wrong changed nothing, and another choice may work.
func mendable(err error) bool {
	_, state := errors.AsType[git.StateError](err)
	_, held := errors.AsType[*gate.HeldError](err)
	_, usage := errors.AsType[*session.UsageError](err)
	_, typed := errors.AsType[*app.UsageError](err)
	return state || held || usage || typed
}

// take brings the work, without showing it a second time. To a branch that has moved on it goes as the user wants, if
// at all.
func (r *round) take(ctx context.Context, now store.Session, o session.PullOptions) (taken bool, err error) {
	if len(o.Only) == 0 {
		o.Gate.Show = nil
	}
	for {
		got, err := r.s.HandOff().Pull(ctx, now.ID, o)
		moved, diverged := errors.AsType[*git.DivergedError](err)
		_, conflict := errors.AsType[*git.ConflictError](err)
		_, merges := errors.AsType[*git.MergesError](err)
		if !diverged && !conflict && !merges {
			return true, r.tellPulled(got, err, false)
		}
		r.IO.Settle()
		question := "Take it another way?"
		if diverged {
			question = "Branch " + git.Quote(moved.Branch) + " has moved on. Take it?"
		} else {
			r.IO.Fail(err)
		}
		if o.Join, o.Branch, err = r.otherWay(ctx, now, o, question); err != nil || o.Join == "" && o.Branch == "" {
			return false, err
		}
	}
}

// otherWay asks how work comes to a branch that has moved on; without an answer not at all.
func (r *round) otherWay(ctx context.Context, now store.Session, o session.PullOptions,
	question string) (how session.Join, branch string, err error) {
	for {
		choice, err := r.ask(ctx, question+" [m]erge [r]ebase [b]ranch [d]iff [l]ater")
		if err != nil {
			return "", "", err
		}
		switch strings.ToLower(strings.TrimSpace(choice)) {
		case "m":
			return session.Merge, "", nil
		case "r":
			return session.Rebase, "", nil
		case "b":
			name, err := r.ask(ctx, "The name of the new branch:")
			return "", strings.TrimSpace(name), err
		case "d":
			if err := r.look(ctx, now, o); err != nil {
				return "", "", err
			}
		case "l", "":
			return "", "", nil
		default:
			r.IO.Say("one of m, r, b, d and l")
		}
	}
}

// takeSome asks for files by their numbers, and brings those. Taken is false if none was named.
func (r *round) takeSome(ctx context.Context, now store.Session, came session.PullResult,
	o session.PullOptions) (taken bool, err error) {
	for i, f := range came.Summary.Files {
		r.IO.Printf("%4d  %s\n", i+1, f.Path)
	}
	line, err := r.ask(ctx, "Which? Numbers like 1 3-5, or paths; d shows them:")
	if strings.TrimSpace(line) == "d" {
		if err = r.look(ctx, now, o); err == nil {
			return r.takeSome(ctx, now, came, o)
		}
	}
	if err != nil || strings.TrimSpace(line) == "" {
		return false, err
	}
	if o.Only, err = chosenFiles(line, came); err != nil {
		return false, err
	}
	return r.take(ctx, now, o)
}

// chosenFiles reads numbers, ranges of them and paths.
func chosenFiles(line string, came session.PullResult) (paths []string, err error) {
	files := came.Summary.Files
	for _, word := range strings.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == ',' || c == '\t' }) {
		from, to, isRange := strings.Cut(word, "-")
		first, err := strconv.Atoi(from)
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(to)
		}
		if err != nil {
			paths = append(paths, word)
			continue
		}
		if first < 1 || last > len(files) || first > last {
			return nil, app.Usagef("%s: there are %s", word, count(len(files), "file"))
		}
		for _, f := range files[first-1 : last] {
			paths = append(paths, filepath.Join(came.Session.Repo, f.Path))
		}
	}
	return paths, nil
}

// look shows the patch in the user's pager.
func (r *round) look(ctx context.Context, now store.Session, o session.PullOptions) error {
	style := git.DiffPlain
	if r.IO.Color {
		style = git.DiffColour
	}
	return r.page(ctx, func(w io.Writer) error {
		_, err := r.s.Looking().Diff(ctx, w, now.ID, style, o)
		return err
	})
}

// page shows text in the user's pager. Leaving it before the end of the text is no error.
func (a *commands) page(ctx context.Context, write func(io.Writer) error) error {
	pager := a.Env("PAGER")
	if pager == "" {
		pager = "less"
	}
	tty, ok := a.IO.In.(*os.File)
	if !ok {
		return write(a.IO.Results())
	}
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	env := os.Environ()
	if a.Env("LESS") == "" {
		env = append(env, "LESS=FRX")
	}
	attr, back := term.Foreground(tty)
	p, err := proc.Start(ctx, proc.Cmd{Argv: []string{"sh", "-c", pager}, Env: env, Stdin: in, Stdout: a.IO.Out,
		Stderr: a.IO.Err, Attr: attr})
	_ = in.Close()
	if err != nil {
		return errors.Join(err, out.Close())
	}
	wrote := write(&begun{out, sync.OnceFunc(a.IO.Settle)})
	_ = out.Close()
	err = p.Wait()
	back()
	if proc.Code(err) == 127 { // there is none
		return write(a.IO.Results())
	}
	if errors.Is(wrote, os.ErrClosed) || err == nil && ctx.Err() == nil {
		return nil
	}
	return wrote
}

// begun calls something before the first write: a pager shows nothing before that.
type begun struct {
	io.Writer
	first func()
}

func (b *begun) Write(p []byte) (int, error) {
	b.first()
	return b.Writer.Write(p)
}

// comment lets the agent go on with what the user says; without a word nothing begins.
func (r *round) comment(ctx context.Context, now store.Session) (next store.Session, err error) {
	text, err := r.ask(ctx, "What should it do?")
	if err != nil || strings.TrimSpace(text) == "" {
		return next, err
	}
	o := r.push
	o.Resume, o.Message, o.Plan, o.Agent, o.Model = now.ID, text, "", "", ""
	return r.s.HandOff().Push(ctx, o)
}

// throwAway moves a session's workspace to the graveyard.
func (r *round) throwAway(ctx context.Context, now store.Session) error {
	free, kept, err := keeping.Of(r.s).Remains(ctx, keeping.PruneOptions{IDs: []string{now.ID}, Force: true})
	if err != nil {
		return err
	}
	for _, k := range kept {
		return &session.StateError{ID: now.ID, State: now.State, Why: k.Why}
	}
	buried, err := keeping.Of(r.s).Prune(ctx, free)
	r.buried(buried, r.cfg.Graveyard.Days)
	if err == nil {
		r.IO.Say("session %s is thrown away; `cco box restore %[1]s` brings it back", now.ID)
	}
	return err
}
