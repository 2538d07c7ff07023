package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Pick is one commit on top of Base that has some paths as Tip has them.
type Pick struct {
	Base, Tip string
	Paths     []string // from the top, taken literally: a file, or everything below a directory; "" is everything
	Message   string
	By        Identity
	At        time.Time
}

// Picked is what a pick has made.
type Picked struct {
	Commit    string
	Files, Of int      // how many of the files that Tip changes it has
	Halves    []string // renames of which it has only one side, for a person
}

// UnchangedError names paths that a pick could not take, because there is no change at them.
type UnchangedError struct {
	Paths   []string
	Changed []string // the first that there are
	More    int
}

func (e *UnchangedError) Error() string {
	words := "nothing was changed at " + quoteAll(e.Paths)
	if len(e.Changed) == 0 {
		return words + ", nor anywhere else"
	}
	words += "; changed are " + quoteAll(e.Changed)
	if e.More > 0 {
		words += fmt.Sprintf(" and %d more", e.More)
	}
	return words
}

// InTheWayError says that a path can't be taken alone: what was a file is now a directory.
type InTheWayError struct{ Path, File string }

func (e *InTheWayError) Error() string {
	return fmt.Sprintf("%s can't be taken without %s, which was a file before: take that", Quote(e.Path), Quote(e.File))
}

func quoteAll(paths []string) string {
	words := make([]string, len(paths))
	for i, p := range paths {
		words[i] = Quote(p)
	}
	return strings.Join(words, ", ")
}

// Pick makes the commit. Its index is the file that is named, which must not be there yet; nothing else is touched.
func (r *Repo) Pick(ctx context.Context, p Pick, index string) (Picked, error) {
	if err := r.CheckOID(p.Base, p.Tip); err != nil {
		return Picked{}, err
	}
	all, err := r.diffCommits(ctx, p.Base, p.Tip)
	if err != nil {
		return Picked{}, err
	}
	chosen, err := choose(all, p.Paths)
	if err != nil {
		return Picked{}, err
	}
	made := Picked{Files: len(chosen), Of: len(all)}
	if made.Halves, err = r.halves(ctx, p, chosen); err != nil {
		return Picked{}, err
	}
	if made.Commit, err = r.commitChosen(ctx, p, chosen, index); err != nil {
		return Picked{}, fmt.Errorf("make a commit of the chosen paths: %w", err)
	}
	return made, nil
}

// under says whether a path is what was named, or below it.
func under(path, named string) bool {
	rest, ok := strings.CutPrefix(path, named)
	return ok && (rest == "" || rest[0] == '/' || named == "")
}

func choose(all []change, paths []string) (chosen []change, err error) {
	found := map[string]bool{}
	gone := map[string]bool{} // by what was not chosen
	for _, c := range all {
		taken := false
		for _, p := range paths {
			if under(c.path, p) {
				taken, found[p] = true, true
			}
		}
		if taken {
			chosen = append(chosen, c)
		} else if c.mode == "" {
			gone[c.path] = true
		}
	}
	missing := UnchangedError{}
	for _, p := range paths {
		if !found[p] {
			missing.Paths = append(missing.Paths, p)
		}
	}
	if len(missing.Paths) > 0 {
		const most = 10
		for _, c := range all[:min(most, len(all))] {
			missing.Changed = append(missing.Changed, c.path)
		}
		missing.More = len(all) - len(missing.Changed)
		return nil, &missing
	}
	for _, c := range chosen {
		for i := range c.path {
			if c.path[i] == '/' && c.mode != "" && gone[c.path[:i]] {
				return nil, &InTheWayError{Path: c.path, File: c.path[:i]}
			}
		}
	}
	return chosen, nil
}

// halves names the renames of which only one side was chosen.
func (r *Repo) halves(ctx context.Context, p Pick, chosen []change) (words []string, err error) {
	out, err := r.host.Out(ctx, "diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status", p.Base, p.Tip, "--")
	if err != nil {
		return nil, fmt.Errorf("look for renames: %w", err)
	}
	has := map[string]bool{}
	for _, c := range chosen {
		has[c.path] = true
	}
	f := fields(out)
	for i := 0; i+2 < len(f); i += 3 {
		from, to := f[i+1], f[i+2]
		switch {
		case has[to] && !has[from]:
			words = append(words, fmt.Sprintf("%s was renamed to %s: the old one stays", Quote(from), Quote(to)))
		case has[from] && !has[to]:
			words = append(words, fmt.Sprintf("%s was renamed to %s: the old one goes, the new one does not come",
				Quote(from), Quote(to)))
		}
	}
	return words, nil
}

func (r *Repo) commitChosen(ctx context.Context, p Pick, chosen []change, index string) (string, error) {
	h := r.host.With("GIT_INDEX_FILE=" + index)
	// The names were examined before, or are the user's own.
	args := func(verb ...string) []string {
		return append([]string{"-c", "core.protectHFS=false", "-c", "core.protectNTFS=false", "-c", "core.splitIndex=false",
			"-c", "i18n.commitEncoding=UTF-8"}, verb...)
	}
	if err := h.Run(ctx, nil, args("read-tree", p.Base)...); err != nil {
		return "", err
	}
	var gone, come strings.Builder
	for _, c := range chosen {
		if c.mode == "" {
			gone.WriteString("0 " + r.zero() + "\t" + c.path + "\x00")
		} else {
			come.WriteString(c.mode + " " + c.oid + "\t" + c.path + "\x00")
		}
	}
	// What goes goes first: a file may become a directory, or a directory a file.
	in := io.MultiReader(strings.NewReader(gone.String()), strings.NewReader(come.String()))
	if err := h.Run(ctx, in, args("update-index", "-z", "--add", "--index-info")...); err != nil {
		return "", err
	}
	tree, err := h.Line(ctx, args("write-tree")...)
	if err != nil {
		return "", err
	}
	if err := r.CheckOID(tree); err != nil {
		return "", err
	}
	at := strconv.FormatInt(p.At.Unix(), 10) + " " + p.At.Format("-0700")
	by := h.With("GIT_AUTHOR_NAME="+p.By.Name, "GIT_AUTHOR_EMAIL="+p.By.Email, "GIT_AUTHOR_DATE="+at,
		"GIT_COMMITTER_NAME="+p.By.Name, "GIT_COMMITTER_EMAIL="+p.By.Email, "GIT_COMMITTER_DATE="+at)
	out, err := by.Feed(ctx, strings.NewReader(p.Message), args("commit-tree", tree, "-p", p.Base)...)
	commit := strings.TrimSpace(string(out))
	if err == nil {
		err = r.CheckOID(commit)
	}
	return commit, err
}

// Adopt copies a commit from another repository, which has everything that this one has: its own objects, and those of
// its trees that are not below known commits.
func (r *Repo) Adopt(ctx context.Context, from Host, commit string, known ...string) error {
	if err := r.CheckOID(append([]string{commit}, known...)...); err != nil {
		return err
	}
	pack, err := from.Feed(ctx, Revisions([]string{commit}, known), "pack-objects", "--revs", "--stdout", "-q")
	if err == nil {
		err = r.host.Run(ctx, strings.NewReader(string(pack)), "unpack-objects", "-q")
	}
	if err != nil {
		return fmt.Errorf("copy commit %s: %w", Short(commit), err)
	}
	if !r.HasObject(ctx, commit) {
		return errors.New("copy commit " + Short(commit) + ": it is not there")
	}
	return nil
}
