package phases

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// Adopt continues a phase whose record is gone, and gives its new id and its pull request, "" if it had none. Agents
// could write the file that it reads, so it believes only what its seal, the forge and the user's repository confirm.
func (a *Phases) Adopt(ctx context.Context, dir string, who Workers) (id, url string, err error) {
	was, err := readShown(dir)
	if err != nil {
		return "", "", err
	}
	svc, done, err := a.Sessions(ctx)
	if err != nil {
		return "", "", err
	}
	defer done()
	if p, err := svc.Store.Phase(ctx, was.id()); was.id() != "" && err == nil && !p.Ended {
		return "", "", &StateError{ID: was.id(), Why: "its record is there: `cco cruise resume " + was.id() + "`"}
	}
	repo, err := svc.Open(ctx, a.Dir)
	if err != nil {
		return "", "", err
	}
	f, err := a.Forge(ctx, svc.Store, repo.Top)
	if err != nil {
		return "", "", err
	}
	pull, err := agrees(ctx, f, was)
	if _, none := errors.AsType[*forge.NoPullError](err); none {
		id, err = a.beginAgain(ctx, svc, repo, was, who)
		return id, "", err
	}
	if err != nil {
		return "", "", err
	}
	if !repo.Has(ctx, pull.Head.Commit) {
		return "", "", &StateError{ID: was.id(), Why: fmt.Sprintf(
			"this repository lacks the head of its branch: `git fetch origin %s` first", was.Branch)}
	}
	key, err := forge.OpenKey(a.Dirs.Data)
	if err != nil {
		return "", "", err
	}
	st, whole, err := a.adopted(key, was, repo.Top, pull, who)
	if err != nil {
		return "", "", err
	}
	if err := heard(ctx, f, &st, whole); err != nil {
		return "", "", err
	}
	if !whole {
		a.IO.Warn("the settings and findings of the phase are not restored, because its file has no seal of this key " +
			"(see `cco cruise key`): it has the usual domains and limits, merges nothing, and reads all comments again")
	}
	id, err = a.begin(ctx, svc.Store, st)
	return id, pull.URL, err
}

// beginAgain begins a phase anew that had no pull request yet. Nobody but its seal confirms its task and its settings.
func (a *Phases) beginAgain(ctx context.Context, svc *session.Service, repo *git.Repo, was adoptable, who Workers) (
	string, error) {
	key, err := forge.OpenKey(a.Dirs.Data)
	if err != nil {
		return "", err
	}
	old, whole := steps.Unseal(key, was.Sealed, was.Seal)
	switch {
	case !whole:
		return "", &StateError{ID: was.id(), Why: "it has no pull request, and its file no seal of this key (see `cco " +
			"cruise key`), so that nobody says that its task is yours: `cco cruise start` begins it anew"}
	case old.PR != nil:
		return "", &StateError{ID: was.id(), Why: "its pull request " + old.PR.URL + " is not there any more"}
	case !repo.Has(ctx, old.Spec.Base):
		return "", &StateError{ID: was.id(), Why: "this repository lacks the commit that it began at, " +
			git.Short(old.Spec.Base)}
	}
	st := cruise.NewState(old.Spec)
	st.Head.Unpushed = old.Head.Unpushed // which the user was told of
	st.Spec.Repo, st.Spec.Quiet = repo.Top, a.Quiet
	who.into(&st.Spec)
	if err := CheckSpec(st.Spec, a.FindAgent); err != nil {
		return "", err
	}
	if _, err := a.check(ctx, svc, st.Spec); err != nil {
		return "", err
	}
	return a.begin(ctx, svc.Store, st)
}

// adopted is the state in which an adopted phase goes on: with a valid seal as it was, else as a new one.
func (a *Phases) adopted(key forge.Key, was adoptable, repo string, pull forge.Pull, who Workers) (st cruise.State,
	whole bool, err error) {
	cfg, err := a.Config()
	if err != nil {
		return st, false, err
	}
	st, whole = steps.Unseal(key, was.Sealed, was.Seal)
	if whole = whole && st.PR != nil && st.PR.URL == pull.URL; whole {
		resetAdopted(&st)
	} else {
		st = cruise.NewState(cruise.Spec{
			Task: taskOf(pull, was), Kind: cruise.Kind(was.Phase), Domains: cruise.Domains(), Box: cfg.Box.Name,
			Planner:   cruise.Worker{Agent: cfg.Agent.Default, Model: cfg.Agent.Model},
			MaxRounds: 5 + max(0, was.Rounds), MaxCost: 20, DiffBudget: 2000, Timeout: 24 * time.Hour,
		})
		st.Spec.Reviewer = cruise.Worker{Agent: cmp.Or(who.Planner, st.Spec.Planner.Agent)}
		st.Spec.Fixer = cruise.Worker{Agent: cmp.Or(who.Planner, st.Spec.Planner.Agent), Model: st.Spec.Planner.Model}
		st.Round, st.Plan, st.Stage = max(0, was.Rounds), was.Plan, cruise.StageWatch
	}
	spec := &st.Spec
	spec.Checks = cmp.Or(spec.Checks, cruise.ChecksRequired)
	spec.Repo, spec.Base, spec.Branch, spec.Quiet = repo, pull.Head.Commit, was.Branch, a.Quiet
	who.into(spec)
	st.Meta = reading.Metadata{Title: pull.Title, Branch: was.Branch}
	st.PR = &cruise.PullRequest{Number: pull.Number, URL: pull.URL, Base: pull.Base.Name}
	st.Head.Commit = pull.Head.Commit
	return st, whole, CheckSpec(*spec, a.FindAgent)
}

// resetAdopted lets a state go on in another life: what its workspace held and was not pushed is not there.
func resetAdopted(st *cruise.State) {
	// domains that have judged the head are not asked again
	st.Stage, st.Attempt.Number, st.Life.Number = cruise.StageReview, 0, 0
	st.Life.Again++
	st.Paused, st.Ask.Question, st.Ask.Resume, st.Waiting.Trouble, st.Ask.Disputed = false, "", "", "", nil
	st.End, st.EndWords, st.Force = "", "", false
	st.Outbox.Published, st.Outbox.Replies, st.Outbox.Notes, st.Review.Approval = nil, nil, nil, nil
	st.Looks.Next = time.Time{}
}

// heard gives an adopted phase what was said before. A whole one has only the ids of strangers' comments that wait. One
// that begins anew must not take the comments of its earlier life for a person's wishes: those by an account of ours
// with a marker, which readers can see.
func heard(ctx context.Context, f Forge, st *cruise.State, whole bool) error {
	said, err := f.Said(ctx, st.PR.Number, "")
	if err != nil {
		return err
	}
	if whole {
		var held []cruise.Comment
		for _, h := range st.Inbox.Held {
			id, _, _ := strings.Cut(h.ID, "~") // an edited one has its edit's time behind this
			if i := slices.IndexFunc(said.Comments, func(c forge.Comment) bool { return c.ID == id }); i >= 0 {
				c := steps.Bounded(steps.CommentOf(said.Comments[i]))
				c.ID = h.ID
				held = append(held, c)
			}
		}
		st.Inbox.Held = held
		return nil
	}
	us, err := f.Us(ctx)
	if err != nil {
		return err
	}
	marked := regexp.MustCompile(`hidden[^\]]*cco:[0-9a-f]{32}`)
	for _, c := range said.Comments {
		if slices.Contains(us, c.Author) && marked.MatchString(c.Body) {
			st.Inbox.Comments = append(st.Inbox.Comments, c.ID)
		}
	}
	return nil
}

// taskOf reads the task from the pull request, where no agent can write.
func taskOf(p forge.Pull, was adoptable) string {
	task := p.Body
	if i := strings.LastIndex(task, "\n\nPlan: `"); i >= 0 {
		task = task[:i]
	}
	return cmp.Or(strings.TrimSpace(task), was.Task)
}

// Workers are the agents of a phase, if they differ from the settings.
type Workers struct{ Planner, Reviewer, Fixer string }

func (who Workers) into(spec *cruise.Spec) {
	for _, w := range []struct {
		to   *cruise.Worker
		flag string
	}{{&spec.Planner, who.Planner}, {&spec.Reviewer, who.Reviewer}, {&spec.Fixer, who.Fixer}} {
		if w.flag != "" && w.flag != w.to.Agent {
			*w.to = cruise.Worker{Agent: w.flag}
		}
	}
}

// adoptable is what is read of a phase-state.json, also of one that another program of this design wrote: its ids may
// be numbers, and what it does not know may be null.
type adoptable struct {
	ID       any    `json:"id"`
	Phase    string `json:"phase"`
	Task     string `json:"task"`
	Branch   string `json:"branch_name"`
	PRNumber int    `json:"pr_number"` // 0 if it is only known by its branch
	Rounds   int    `json:"completed_rounds"`
	Plan     string `json:"plan"`
	Sealed   string `json:"sealed"` // all of it, in a form that only cco can make
	Seal     string `json:"seal"`
}

// id is the phase's id, "" if the file has none that cco made.
func (a adoptable) id() string {
	id, _ := a.ID.(string)
	return id
}

func readShown(dir string) (s adoptable, err error) {
	path := filepath.Join(dir, steps.StateFile)
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return s, &store.PhaseNotFoundError{ID: "in " + dir}
	}
	if err != nil {
		return s, err
	}
	if !info.Mode().IsRegular() || info.Size() > 2<<20 {
		return s, app.Usagef("%s is no file that cco wrote", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, app.Usagef("read %s: %v", path, err)
	}
	s.Phase = strings.ToLower(s.Phase)
	if !slices.Contains(cruise.Kinds(), cruise.Kind(s.Phase)) || reading.CheckBranch(s.Branch) != nil || s.PRNumber < 0 {
		return s, app.Usagef("%s names no phase with a branch", path)
	}
	return s, nil
}

// agrees checks the file against the forge.
func agrees(ctx context.Context, f Forge, was adoptable) (pull forge.Pull, err error) {
	if was.PRNumber == 0 {
		pull, err = f.Find(ctx, was.Branch)
	} else {
		pull, err = f.Pull(ctx, was.PRNumber)
	}
	if err != nil {
		return pull, err
	}
	switch {
	case pull.Head.Name != was.Branch:
		return pull, &StateError{ID: was.id(), Why: fmt.Sprintf("pull request %d is about branch %q, not %q", pull.Number,
			pull.Head.Name, was.Branch)}
	case pull.State != forge.Open:
		return pull, &StateError{ID: was.id(), Why: fmt.Sprintf("pull request %d is %s", pull.Number, pull.State)}
	}
	return pull, nil
}
