package steps

import (
	"context"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/gate"
)

// Checks says how the checks of a request's head stand. What they say of themselves may hold keys, and goes to a model
// and to the forge: those are masked here.
func (d *Doer) Checks(ctx context.Context, in cruise.ChecksIn) (cruise.Checks, error) {
	f, err := d.forge(ctx, in.Repo)
	if err != nil {
		return cruise.Checks{}, err
	}
	c, err := d.Watch.checks(ctx, f, in)
	if err != nil {
		return cruise.Checks{}, d.soon(in.Phase, err)
	}
	return checksOf(c), nil
}

// checksOf is what a phase needs to know of checks. What somebody reported on the base does not excuse a failed job:
// whatever runs in another job may have.
func checksOf(c forge.Checked) cruise.Checks {
	out := cruise.Checks{Head: c.Head, Required: c.Required}
	jobs := map[string]bool{}
	for _, v := range c.All {
		jobs[v.Name] = jobs[v.Name] || v.Job != 0
		out.All = append(out.All, cruise.Check{Name: v.Name, State: stateOf(v.State), URL: v.URL,
			Job: v.Job, Run: v.Run, Attempt: v.Attempt,
			Summary: gate.MaskSecrets(v.Summary)})
	}
	for _, v := range c.Base {
		if stateOf(v.State) == cruise.CheckFailed && (v.Job != 0 || !jobs[v.Name]) {
			out.Base = append(out.Base, v.Name)
		}
	}
	return out
}

func stateOf(s forge.CheckState) cruise.CheckState {
	switch s {
	case forge.ChecksPassed:
		return cruise.CheckGreen
	case forge.ChecksPending:
		return cruise.CheckPending
	case forge.ChecksAction:
		return cruise.CheckAction
	case forge.ChecksFailed, forge.ChecksNone:
	}
	return cruise.CheckFailed
}

// checking is what is known of the checks of a repository's requests.
type checking struct {
	waiting map[int]time.Time // when each was last asked for
	found   map[int]forge.Checked
	at      time.Time
}

// waitsNoMore is how long nobody has asked for checks that nobody waits for: twice the longest wait of a phase.
const waitsNoMore = 600 * time.Second

// checks reads the checks of a phase's head, together with those of all other phases of the repository that wait for
// theirs.
func (w *Watcher) checks(ctx context.Context, f Forge, in cruise.ChecksIn) (forge.Checked, error) {
	r := w.repo(in.Repo)
	r.mu.Lock()
	defer r.mu.Unlock()
	c, now := &r.checking, w.Now()
	if old := now.Sub(c.at); old >= 0 && old < fresh {
		if v, ok := c.found[in.PR]; ok {
			return v, nil
		}
	}
	if c.waiting == nil {
		c.waiting = map[int]time.Time{}
	}
	c.waiting[in.PR] = now
	var numbers []int
	for n, at := range c.waiting {
		if now.Sub(at) > waitsNoMore {
			delete(c.waiting, n)
			continue
		}
		numbers = append(numbers, n)
	}
	found, err := f.Checks(ctx, numbers)
	if err != nil && len(numbers) > 1 {
		found, err = f.Checks(ctx, []int{in.PR}) // another request may be gone
	}
	if err != nil {
		return forge.Checked{}, err
	}
	c.found, c.at = found, now
	return found[in.PR], nil
}

// Attempt says which attempt of a job this is.
func (d *Doer) Attempt(ctx context.Context, in cruise.JobIn) (int, error) {
	f, err := d.forge(ctx, in.Repo)
	if err != nil {
		return 0, err
	}
	n, err := f.Attempt(ctx, in.Job)
	return n, temporary(err)
}

// Rerun runs a job again that is still at the attempt that failed.
func (d *Doer) Rerun(ctx context.Context, in cruise.JobIn) error {
	f, err := d.forge(ctx, in.Repo)
	if err != nil {
		return err
	}
	return temporary(f.Rerun(ctx, in.Job, in.Attempt))
}

// Log is the end of a job's log, with keys masked: it goes to a model, and parts of it to the forge.
func (d *Doer) Log(ctx context.Context, in cruise.JobIn) (string, error) {
	f, err := d.forge(ctx, in.Repo)
	if err != nil {
		return "", err
	}
	log, err := f.JobLog(ctx, in.Job)
	return gate.MaskSecrets(log), temporary(err)
}
