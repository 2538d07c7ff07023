package steps

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/gate"
)

// Checks says how the checks of a request's head stand. What they say of themselves may hold keys, and goes to a model
// and to the forge: those are masked here.
func (d *Doer) Checks(ctx context.Context, in cruise.ChecksIn) (cruise.Checked, error) {
	return ask(ctx, d, in.Where, func(f Forge) (cruise.Checked, error) {
		c, err := d.Watch.checks(ctx, f, in)
		return checksOf(c), err
	})
}

// checksOf is what a phase needs to know of checks. What somebody reported on the base does not excuse a failed job:
// whatever runs in another job may have.
func checksOf(c forge.Checked) cruise.Checked {
	out := cruise.Checked{Head: c.Head, Required: c.Required, CI: len(c.Base) > 0}
	jobs := map[string]bool{}
	for _, v := range c.All {
		jobs[v.Name] = jobs[v.Name] || v.Job != 0
		v.URL, v.Summary = gate.MaskSecrets(v.URL), gate.MaskSecrets(v.Summary)
		out.All = append(out.All, v)
	}
	for _, v := range c.Base {
		if v.State == forge.ChecksFailed && (v.Job != 0 || !jobs[v.Name]) {
			out.Base = append(out.Base, v.Name)
		}
	}
	return out
}

// checking is what is known of the checks of one request.
type checking struct {
	phase  string // that waits for them
	within time.Duration
	asked  time.Time
	read   time.Time
	found  forge.Checked
}

// checks reads the checks of a phase's head. Those of other phases of the repository that wait for theirs are read with
// them, the oldest first, so that these need not ask; one whose checks have changed is woken.
func (w *Watcher) checks(ctx context.Context, f Forge, in cruise.ChecksIn) (forge.Checked, error) {
	r, err := w.take(ctx, in.Repo)
	if err != nil {
		return forge.Checked{}, err
	}
	defer r.leave()
	now := w.Now()
	c := r.checks[in.PR]
	if c == nil || c.phase != in.Phase {
		c = &checking{phase: in.Phase}
		r.checks[in.PR] = c
	}
	c.asked, c.within = now, max(in.Within, fresh)
	old := now.Sub(c.read)
	if old >= 0 && old < c.within || old >= 0 && old < rarely && w.spare.TokensAt(now) < 1 {
		return c.found, nil
	}
	w.spare.AllowN(now, 1)
	numbers := append([]int{in.PR}, r.due(in.PR, now)...)
	found, err := f.Checks(ctx, numbers)
	if err != nil && len(numbers) > 1 {
		numbers = numbers[:1]
		found, err = f.Checks(ctx, numbers) // another request may be gone
	}
	if err != nil {
		return forge.Checked{}, err
	}
	for _, n := range numbers {
		other := r.checks[n]
		before, known := other.found, !other.read.IsZero()
		other.found, other.read = found[n], now
		if !known {
			continue
		}
		changed := changes(before.All, other.found.All) + changes(before.Base, other.found.Base)
		w.spare.AllowN(now, -changed) // they are given back
		if (changed > 0 || before.Head != other.found.Head) && n != in.PR && w.Wake != nil {
			go w.Wake(other.phase)
		}
	}
	return c.found, nil
}

// changes counts the checks whose state is another one, or that are new.
func changes(was, is []forge.Check) (n int) {
	for _, c := range is {
		if !slices.ContainsFunc(was, func(o forge.Check) bool { return o.Name == c.Name && o.State == c.State }) {
			n++
		}
	}
	return n
}

// Every head is read this often, whatever that costs; more often only as long as there is something to spare: a
// hundredth of one user's limit in an hour, and one request for each check that has changed.
const (
	rarely = 300 * time.Second // the longest wait of a phase
	spares = 50
	ahead  = 25 // requests are read at once, at most: as many as cost one request on GitHub
)

// due are the other requests whose checks are waited for, and will be asked for soon. What nobody has asked for in the
// time of two waits is waited for no more.
func (r *watched) due(but int, now time.Time) (numbers []int) {
	for n, c := range r.checks {
		switch {
		case n == but:
		case now.Sub(c.asked) > 2*c.within+settling:
			delete(r.checks, n)
		case now.Sub(c.read) >= c.within/2:
			numbers = append(numbers, n)
		}
	}
	slices.SortFunc(numbers, func(a, b int) int {
		return cmp.Or(r.checks[a].read.Compare(r.checks[b].read), cmp.Compare(a, b))
	})
	return numbers[:min(len(numbers), ahead-1)]
}

// Attempt says which attempt of a job this is.
func (d *Doer) Attempt(ctx context.Context, in cruise.JobIn) (int, error) {
	return ask(ctx, d, in.Where, func(f Forge) (int, error) { return f.Attempt(ctx, in.Job) })
}

// Rerun runs a job again that is still at the attempt that failed.
func (d *Doer) Rerun(ctx context.Context, in cruise.JobIn) error {
	return d.on(ctx, in.Where, func(f Forge) error { return f.Rerun(ctx, in.Job, in.Attempt) })
}

// Log is the end of a job's log, with keys masked: it goes to a model, and parts of it to the forge.
func (d *Doer) Log(ctx context.Context, in cruise.JobIn) (string, error) {
	log, err := ask(ctx, d, in.Where, func(f Forge) (string, error) { return f.JobLog(ctx, in.Job) })
	return gate.MaskSecrets(log), err
}
