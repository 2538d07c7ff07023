package git

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/safetext"
)

// CommitText is a commit with its message and files. Subject and Trailers are safe to print; Files are real names.
type CommitText struct {
	Commit   string
	Subject  string
	Trailers []Trailer
	Files    []string
}

// Trailer is a line at the end of a commit's message.
type Trailer struct{ Key, Value string }

const (
	maxCommitTexts = 500
	maxMessage     = 64 << 10
	maxTrailers    = 200
	maxTouched     = 5000
)

// Commits reads the commits that to adds to from and to what is known, oldest first, with their trailers and files.
// More than a few hundred are refused: nobody would read them.
func (r *Repo) Commits(ctx context.Context, from, to string, known ...string) ([]CommitText, error) {
	if err := r.CheckOID(append([]string{from, to}, known...)...); err != nil {
		return nil, err
	}
	var list []CommitText
	c := r.host.Cmd("log", "-z", "--topo-order", "--reverse", "--no-color", "--no-decorate", "--no-notes",
		"--encoding=UTF-8", "--no-show-signature",
		"--no-patch", fmt.Sprintf("--max-count=%d", maxCommitTexts+1), "--format=%H%n%B", "--stdin")
	c.Stdin = Revisions([]string{to}, append([]string{from}, known...))
	err := r.host.Scan(ctx, c, 0, func(rec []byte) error {
		oid, message, _ := strings.Cut(string(rec[:min(len(rec), maxMessage)]), "\n")
		subject, _, _ := strings.Cut(strings.TrimLeft(message, "\n"), "\n")
		list = append(list, CommitText{Commit: oid, Subject: safetext.Line(safetext.Cut(subject, 500)),
			Trailers: trailers(message)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	if len(list) > maxCommitTexts {
		return nil, fmt.Errorf("list commits: more than %d", maxCommitTexts)
	}
	for i := range list {
		if list[i].Files, err = r.touched(ctx, list[i].Commit); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// touched gives the files that a commit changes against its first parent.
func (r *Repo) touched(ctx context.Context, commit string) ([]string, error) {
	var files []string
	c := r.host.Cmd("diff-tree", "-r", "-z", "--root", "--name-only", "--no-commit-id", "--no-renames", "--no-ext-diff",
		"-m", "--first-parent", commit, "--")
	err := r.host.Scan(ctx, c, 0, func(rec []byte) error {
		if name := string(rec); len(files) < maxTouched {
			files = append(files, path.Clean(name))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", Short(commit), err)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// trailers reads the last paragraph of a message, if each of its lines is a trailer.
func trailers(message string) []Trailer {
	paragraphs := strings.Split(strings.TrimSpace(strings.ReplaceAll(message, "\r\n", "\n")), "\n\n")
	if len(paragraphs) < 2 {
		return nil // a subject alone has none
	}
	var list []Trailer
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || key == "" || strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-") != "" ||
			len(list) == maxTrailers {
			continue
		}
		list = append(list, Trailer{Key: key, Value: safetext.Line(safetext.Cut(strings.TrimSpace(value), 2000))})
	}
	return list
}

// maxUnpushed bounds a list that only a person reads.
const maxUnpushed = 50

// Unpushed lists the commits up to base, as short lines, that are neither below the known commit nor on any branch that
// was fetched from the remote. The newest comes first; after the last that fits comes a line that says so.
func (r *Repo) Unpushed(ctx context.Context, base, remote, known string) ([]string, error) {
	if err := r.CheckOID(base); err != nil {
		return nil, err
	}
	args := []string{"log", "-z", "--no-color", "--no-decorate", "--no-notes", "--encoding=UTF-8", "--no-show-signature",
		"--no-patch", fmt.Sprintf("--max-count=%d", maxUnpushed+1), "--format=%h %s", base, "--not", "--remotes=" + remote}
	if known != "" && r.CheckOID(known) == nil && r.Has(ctx, known) {
		args = append(args, known)
	}
	var list []string
	err := r.host.Scan(ctx, r.host.Cmd(append(args, "--")...), 0, func(rec []byte) error {
		list = append(list, safetext.Line(safetext.Cut(string(rec), 200)))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list commits that were never pushed: %w", err)
	}
	if len(list) > maxUnpushed {
		list[maxUnpushed] = "and older ones"
	}
	return list, nil
}
