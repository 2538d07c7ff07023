package canary

import (
	"context"
	"errors"
	"slices"

	"github.com/cco-dev/cco/internal/git"
)

// Mend undoes what a report tells of, in a repository that git may not even be able to open before that: then files are
// put back first, and what could not be compared is compared and undone after. The report is written anew with what is
// left. With all, what looks like the user's own work is undone too.
func Mend(ctx context.Context, top, dir string, own Own, all bool) ([]Outcome, error) {
	r, err := ReadReport(dir)
	if err != nil || r == nil {
		return nil, err
	}
	shot, err := Load(dir)
	if err != nil {
		return nil, err
	}
	peers, tips := own.Peers, own.Tips
	own = shot.Own
	own.Peers, own.Tips = peers, tips
	list, rest := r.Findings, []Finding(nil)
	if !all {
		list = r.Grave()
		rest = slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return !f.Ordinary })
	}
	if slices.ContainsFunc(list, func(f Finding) bool { return f.Kind == KindUnreadable }) {
		files := newUndo(nil, shot, list)
		files.undoFiles()
		done := slices.DeleteFunc(files.outcomes(), func(o Outcome) bool { return !o.Done })
		again := toUndo(look(ctx, top, shot, own), all)
		out, err := mend(ctx, top, shot, again)
		return append(done, out...), errors.Join(err, settle(dir, r, rest, out))
	}
	out, err := mend(ctx, top, shot, list)
	return out, errors.Join(err, settle(dir, r, rest, out))
}

func toUndo(found []Finding, all bool) []Finding {
	if all {
		return found
	}
	return Report{Findings: found}.Grave()
}

func mend(ctx context.Context, top string, shot *Shot, list []Finding) ([]Outcome, error) {
	if len(list) == 0 {
		return nil, nil
	}
	repo, err := git.Open(ctx, top)
	if err != nil {
		out := make([]Outcome, 0, len(list))
		for _, f := range list {
			out = append(out, Outcome{Finding: f, Refused: clean(err.Error())})
		}
		return out, nil
	}
	return Undo(ctx, repo, shot, list)
}

// settle writes down what is left. Only when nothing grave is does the box open again.
func settle(dir string, r *Report, rest []Finding, out []Outcome) error {
	left := slices.Clone(rest)
	for _, o := range out {
		if !o.Done {
			left = append(left, o.Finding)
		}
	}
	now := Report{Session: r.Session, Box: r.Box, Time: r.Time, Findings: left, Resolved: r.Resolved}
	if now.Frozen = r.Frozen && len(now.Grave()) > 0; !now.Frozen {
		now.Resolved = Undone
	}
	return saveReport(dir, now)
}
