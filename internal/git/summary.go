package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/safetext"
)

// CommitLine is a commit for people. All text is safe to print.
type CommitLine struct {
	Commit  string    `json:"commit"`
	Short   string    `json:"short"`
	Subject string    `json:"subject"`
	Author  string    `json:"author"`
	Date    time.Time `json:"date"`
}

// FileStat is one file of a diffstat. Path is safe to print.
type FileStat struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary,omitempty"`
}

// Summary is what happened between two commits.
type Summary struct {
	Commits []CommitLine `json:"commits"`        // oldest first, the last 1000
	More    int          `json:"more,omitempty"` // commits before those
	Files   []FileStat   `json:"files"`          // the first 10,000

	MoreFiles int `json:"more_files,omitempty"`
	Added     int `json:"added"`
	Deleted   int `json:"deleted"`
}

const (
	maxCommitLines = 1000
	maxFileStats   = 10_000
)

// Summary sums up what to adds to from.
func (r *Repo) Summary(ctx context.Context, from, to string) (Summary, error) {
	s, err := r.CommitLines(ctx, from, to)
	if err != nil {
		return Summary{}, err
	}
	h := r.host
	c := h.Cmd("diff-tree", "-r", "-z", "--numstat", "--no-renames", "--ignore-submodules=none", "--no-ext-diff",
		"--no-textconv", from, to, "--")
	err = h.Scan(ctx, c, 0, func(rec []byte) error {
		s.Count(fileStat(string(rec)))
		return nil
	})
	if err != nil {
		return Summary{}, fmt.Errorf("compare: %w", err)
	}
	return s, nil
}

// Count adds a file. Of one that becomes something else git may tell twice, as of one that goes and one that comes.
func (s *Summary) Count(f FileStat) {
	s.Added, s.Deleted = s.Added+f.Added, s.Deleted+f.Deleted
	last := len(s.Files) - 1
	switch {
	case last >= 0 && s.Files[last].Path == f.Path:
		l := &s.Files[last]
		l.Added, l.Deleted, l.Binary = l.Added+f.Added, l.Deleted+f.Deleted, l.Binary || f.Binary
	case len(s.Files) < maxFileStats:
		s.Files = append(s.Files, f)
	default:
		s.MoreFiles++
	}
}

// CommitLines is a summary without files, for who has them from elsewhere.
func (r *Repo) CommitLines(ctx context.Context, from, to string) (Summary, error) {
	if err := r.CheckOID(from, to); err != nil {
		return Summary{}, err
	}
	h := r.host
	s := Summary{Commits: []CommitLine{}, Files: []FileStat{}}
	c := h.Cmd("log", "-z", "--topo-order", "--no-color", "--no-decorate", "--no-notes", "--encoding=UTF-8",
		"--no-show-signature", "--no-patch", fmt.Sprintf("--max-count=%d", maxCommitLines), "--format=%H %at%n%an%n%s",
		from+".."+to, "--")
	err := h.Scan(ctx, c, 0, func(rec []byte) error {
		s.Commits = append(s.Commits, commitLine(string(rec)))
		return nil
	})
	if err != nil {
		return Summary{}, fmt.Errorf("list commits: %w", err)
	}
	slices.Reverse(s.Commits)
	if len(s.Commits) == maxCommitLines {
		n, err := h.Line(ctx, "rev-list", "--count", from+".."+to, "--")
		if err != nil {
			return Summary{}, fmt.Errorf("count commits: %w", err)
		}
		total, _ := strconv.Atoi(n)
		s.More = max(0, total-maxCommitLines)
	}
	return s, nil
}

// commitLine reads "<oid> <seconds>\n<author>\n<subject>".
func commitLine(rec string) CommitLine {
	head, rest, _ := strings.Cut(rec, "\n")
	author, subject, _ := strings.Cut(rest, "\n")
	oid, seconds, _ := strings.Cut(head, " ")
	c := CommitLine{Commit: oid, Short: Short(oid), Subject: safetext.Line(safetext.Cut(subject, 500)),
		Author: safetext.Line(safetext.Cut(author, 200))}
	if at, err := strconv.ParseInt(seconds, 10, 64); err == nil {
		c.Date = time.Unix(at, 0).UTC()
	}
	return c
}

// fileStat reads "<added>\t<deleted>\t<path>", with dashes for a binary file.
func fileStat(rec string) FileStat {
	added, rest, _ := strings.Cut(rec, "\t")
	deleted, path, _ := strings.Cut(rest, "\t")
	f := FileStat{Path: safetext.Line(path), Binary: added == "-"}
	f.Added, _ = strconv.Atoi(added)
	f.Deleted, _ = strconv.Atoi(deleted)
	return f
}

// Parent is the first parent of a commit, or the empty tree of one that has none.
func (r *Repo) Parent(ctx context.Context, commit string) (string, error) {
	if err := r.CheckOID(commit); err != nil {
		return "", err
	}
	line, err := r.host.Line(ctx, "rev-list", "--parents", "--max-count=1", commit, "--")
	if err != nil {
		return "", fmt.Errorf("find the parent of %s: %w", Short(commit), err)
	}
	if all := strings.Fields(line); len(all) > 1 {
		return all[1], nil
	}
	return r.host.Line(ctx, "hash-object", "-t", "tree", "--stdin")
}

// TextAt reads the beginning of a file of a commit.
func (r *Repo) TextAt(ctx context.Context, commit, path string, most int) (string, error) {
	if err := r.CheckOID(commit); err != nil {
		return "", err
	}
	data, err := r.host.Out(ctx, "cat-file", "blob", commit+":"+path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", Quote(path), err)
	}
	return safetext.Cut(string(data), most), nil
}

// DiffStyle says who reads a diff.
type DiffStyle int

// The styles of a diff.
const (
	DiffPlain  DiffStyle = iota // for a terminal: control characters are replaced
	DiffColour                  // the same with colours
	DiffRaw                     // for a program, such as git apply: exactly git's bytes, which may be hostile
	DiffLines                   // the same without what is in binary files, for a program that shows it
)

// Diff writes the patch from one commit to another: of all files, or of those that are named.
func (r *Repo) Diff(ctx context.Context, w io.Writer, from, to string, style DiffStyle, only ...string) error {
	if err := r.CheckOID(from, to); err != nil {
		return err
	}
	h := r.host
	args := []string{"--literal-pathspecs", "diff-tree", "-r", "-p", "--no-renames", "--ignore-submodules=none",
		"--no-ext-diff", "--no-textconv", "--no-color"}
	switch style {
	case DiffRaw:
		args = append(args, "--binary", "--full-index")
	case DiffPlain, DiffColour:
		args = append(args, "--stat", "--patch")
	}
	args = append(append(args, from, to, "--"), only...)
	c := h.Cmd(args...)
	if style == DiffRaw || style == DiffLines {
		c.Stdout = w
		return h.Finish(ctx, c)
	}
	out := bufio.NewWriter(w)
	err := h.Scan(ctx, c, '\n', func(line []byte) error {
		text := safetext.Text(string(line))
		if style == DiffColour {
			text = colour(text)
		}
		_, err := out.WriteString(text + "\n")
		return err
	})
	if err == nil {
		err = out.Flush()
	}
	return err
}

func colour(line string) string {
	code := ""
	switch {
	case strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "index ") || strings.HasPrefix(line, "+++ ") ||
		strings.HasPrefix(line, "--- "):
		code = "1"
	case strings.HasPrefix(line, "@@ "):
		code = "36"
	case strings.HasPrefix(line, "+"):
		code = "32"
	case strings.HasPrefix(line, "-"):
		code = "31"
	default:
		return line
	}
	return "\x1b[" + code + "m" + line + "\x1b[m"
}
