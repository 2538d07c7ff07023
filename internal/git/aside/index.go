package aside

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// entry is what a commit has at a path, and what there is instead.
type entry struct{ mode, oid, instead string }

// none is the mode of nothing.
const none = "000000"

func (e entry) isInstead(mode string) bool { return strings.HasPrefix(e.instead, mode) }

// differ runs a command of git's that compares a commit with something, and gives the paths that differ.
func differ(ctx context.Context, h git.Host, args ...string) (map[string]entry, error) {
	all, meta := map[string]entry{}, ""
	c := h.Cmd(append(args, "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none")...)
	err := h.Scan(ctx, c, 0, func(field []byte) error {
		if meta == "" {
			meta = string(field)
			return nil
		}
		f := strings.Fields(strings.TrimPrefix(meta, ":"))
		if meta = ""; len(f) != 5 {
			return fmt.Errorf("git answered %s", git.Quote(git.Clip(string(field))))
		}
		e := entry{mode: f[0], oid: f[2], instead: all[string(field)].instead + f[1] + " " + f[3] + " " + f[4][:1]}
		all[string(field)] = e
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return all, nil
}

// carryIndex changes those paths of the user's index that are as they were.
func (t *taking) carryIndex(ctx context.Context, p *plan) error {
	leave := func(path, why string) {
		p.report.IndexLeft = append(p.report.IndexLeft, Left{Path: path, Why: why})
	}
	if t.said.left != "" {
		leave("", t.said.left)
	}
	if why := t.refused[t.said.index]; why != "" && t.said.index != t.said.head.OID {
		leave("", why)
	} else if t.said.index != "" && p.index != t.said.index {
		leave("", "HEAD did not follow")
	}
	if p.index == "" {
		return nil
	}
	before, err := differ(ctx, t.was, "diff-index", "--cached", p.index)
	if err != nil || len(before) == 0 {
		return err
	}
	now, err := differ(ctx, t.user.Host(), "diff-index", "--cached", p.index)
	if err != nil {
		return err
	}
	do, left, err := t.indexChanges(ctx, p, before, now)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(left)) {
		leave(path, left[path])
		delete(before, path)
	}
	if err := t.updateIndex(ctx, t.user.Host(), do); err != nil {
		return fmt.Errorf("update the index: %w", err)
	}
	if p.report.Index = len(do); p.index != p.at {
		p.report.Staged = p.index
	}
	return t.updateIndex(ctx, t.was, before, "-c", "core.splitIndex=false")
}

// indexChanges says which paths of the user's index change. before and now are how it differed and differs from the
// agent's.
func (t *taking) indexChanges(ctx context.Context, p *plan, before, now map[string]entry) (do map[string]entry,
	left map[string]string, err error) {
	staged := map[string]entry{}
	if p.index != p.at && p.at != "" {
		if staged, err = differ(ctx, t.user.Host(), "diff-tree", "-r", p.index, p.at); err != nil {
			return nil, nil, err
		}
	}
	// A gitlink comes if the user's index had one there, or if HEAD has, which came over.
	nested := func(path string, e entry) bool {
		in, differs := staged[path]
		committed := p.at != "" && (!differs || in.isInstead(git.ModeGitlink))
		return e.mode == git.ModeGitlink && !e.isInstead(git.ModeGitlink) && !committed
	}
	theirs := map[string]bool{} // what the user has added, which is true, and the directories above
	for path, e := range now {
		if _, ok := before[path]; !ok && !e.isInstead(none) {
			for at := path; at != "."; at = filepath.Dir(at) {
				theirs[at] = theirs[at] || at == path
			}
		}
	}
	inTheWay := func(path string) bool {
		_, is := theirs[path]
		for at := path; at != "." && !is; at = filepath.Dir(at) {
			is = theirs[at]
		}
		return is
	}
	do, left = map[string]entry{}, map[string]string{}
	for path, e := range before {
		is, differs := now[path]
		switch {
		case nested(path, e):
			left[path] = "it is a nested repository"
		case !differs: // the user has it already
		case is != e:
			left[path] = "it changed meanwhile"
		case strings.HasSuffix(e.instead, "U"):
			left[path] = "it is in conflict"
		case e.mode != none && inTheWay(path):
			left[path] = "you have something in its way"
		default:
			do[path] = e
		}
	}
	return do, left, nil
}

// updateIndex is given what goes, and then what comes.
func (t *taking) updateIndex(ctx context.Context, h git.Host, changes map[string]entry, options ...string) error {
	if len(changes) == 0 {
		return nil
	}
	var gone, come strings.Builder
	for path, e := range changes {
		if e.mode == none {
			gone.WriteString("0 " + strings.Repeat("0", t.user.OIDLen()) + "\t" + path + "\x00")
		} else {
			come.WriteString(e.mode + " " + e.oid + "\t" + path + "\x00")
		}
	}
	return h.Run(ctx, strings.NewReader(gone.String()+come.String()), append(options, "update-index", "-z",
		"--index-info")...)
}
