package aside

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// began is what the user's repository was when the cage began, with what was brought over since. What comes out of the
// cage is compared with it.
type began struct {
	GitDir, CommonDir string

	Open bool // a cage may have written since Refresh

	Refs  map[string]git.Ref // as the cage was given them, and as they were brought over
	Head  git.Ref            // likewise: the branch that is checked out, the commit, or both
	Index []byte             // likewise, empty for none

	Own  map[string]bool   // branches that the cage may move
	Kept map[string]string // what this cage has put beside the user's refs

	// What the last look inside found, which Refresh must not lose.
	Inside  git.Ref
	Others  map[string]string
	Refused []string // commits that can't come over
}

// state is the user's repository at a moment.
type state struct {
	refs map[string]git.Ref
	head git.Ref
}

func (p *part) load() (*began, error) {
	data, err := os.ReadFile(filepath.Join(p.dir, "began"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	b := &began{}
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(data)).Decode(b) // names of refs need not be text
	}
	if err != nil {
		return nil, fmt.Errorf("read what was before: %w", err)
	}
	return b, nil
}

func (p *part) save(b *began) error {
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(b); err != nil {
		return err
	}
	return whole.Write(filepath.Join(p.dir, "began"), data.Bytes(), 0o600)
}

// withIndex is git in the user's worktree with an index of ours, which it has in a file.
func (p *part) withIndex(file string, index []byte) (git.Host, error) {
	err := tree.Remove(file)
	if err == nil && len(index) > 0 {
		err = os.WriteFile(file, index, 0o600)
	}
	return p.user.Host().With("GIT_INDEX_FILE=" + file), err
}

// now reads the user's repository. Refs that belong to a worktree or to what the user does there, such as a bisection,
// are no part of it.
func (p *part) now(ctx context.Context) (s state, err error) {
	if s.refs, err = p.user.Refs(ctx); err != nil {
		return s, err
	}
	for name := range s.refs {
		if apart(name) {
			delete(s.refs, name)
		}
	}
	s.head, err = p.head(ctx, s.refs)
	return s, err
}

// apart says whether a ref is one that a private repository has for itself.
func apart(name string) bool {
	for _, dir := range []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/", passing} {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return name == "refs/stash"
}

func (p *part) head(ctx context.Context, refs map[string]git.Ref) (h git.Ref, err error) {
	// Most often HEAD is a file that names a branch. Reading it costs less than a git.
	text, _ := os.ReadFile(filepath.Join(p.user.GitDir, "HEAD"))
	name, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: ")
	if h.Symref = name; !ok || refs[name].OID == "" || refs[name].Symref != "" {
		h.Symref, err = p.user.Host().Line(ctx, "symbolic-ref", "-q", "HEAD")
	}
	if err == nil {
		h.OID = refs[h.Symref].OID
		return h, nil
	}
	if proc.Code(err) == 1 {
		h.OID, err = p.user.Host().Line(ctx, "rev-parse", "--verify", "HEAD^{commit}")
	}
	if err != nil {
		return h, fmt.Errorf("read HEAD: %w", err)
	}
	return h, nil
}

// plainName makes a directory's name one that can be a part of a ref's name.
func plainName(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' {
			return r
		}
		return '-'
	}, name)
	return cmp.Or(strings.Trim(plain[:min(len(plain), 100)], "-"), "worktree")
}
