package canary

import (
	"context"
	"errors"
	"slices"

	"github.com/cco-dev/cco/internal/git"
)

// Mend undoes a report's findings, even in a repository that git can't open: then it puts files back first, and
// compares and undoes the rest after that. It rewrites the report with what is left. With all, what looks like the
// user's own work is undone too.
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
		return append(done, out...), errors.Join(err, writeRest(dir, r, rest, out))
	}
	out, err := mend(ctx, top, shot, list)
	return out, errors.Join(err, writeRest(dir, r, rest, out))
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

// writeRest writes the report of what is left. The box opens again only if nothing grave is left.
func writeRest(dir string, r *Report, rest []Finding, out []Outcome) error {
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
