package aside

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/aside/wire"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/whole"
)

// began is what the user's repository was when the cage began, with what was brought over since. What comes out of the
// cage is compared with it.
type began struct {
	GitDir    string `json:"git_dir"`
	CommonDir string `json:"common_dir"`

	// Open says that a cage may have written since Refresh.
	Open bool `json:"open"`

	Refs  map[string]git.Ref `json:"refs"`  // as the cage was given them, and as they were brought over
	Head  wire.Head          `json:"head"`  // likewise
	Index string             `json:"index"` // names the file with the user's index, likewise

	Own  map[string]bool   `json:"own"`            // branches that the cage may move
	Kept map[string]string `json:"kept,omitempty"` // what this cage has put beside the user's refs
	Have []string          `json:"have,omitempty"` // commits that were brought over

	// What the last look inside found, which Refresh must not lose.
	Inside  wire.Head         `json:"inside"`
	Others  map[string]string `json:"others,omitempty"`
	Refused map[string]string `json:"refused,omitempty"` // branches that can't come over
}

// state is the user's repository at a moment.
type state struct {
	refs  map[string]git.Ref
	head  wire.Head
	index []byte // as `git ls-files --stage -z` lists it
}

func (p *part) load() (*began, error) {
	data, err := os.ReadFile(filepath.Join(p.dir, "began.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	b := &began{}
	if err == nil {
		err = json.Unmarshal(data, b)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was before: %w", err)
	}
	return b, nil
}

func (p *part) save(b *began) error {
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if err := whole.Write(filepath.Join(p.dir, "began.json"), data, 0o600); err != nil {
		return err
	}
	// Indexes of earlier times; one that is left behind does no harm.
	old, _ := filepath.Glob(filepath.Join(p.dir, "index-*"))
	for _, name := range old {
		if filepath.Base(name) != b.Index {
			_ = os.Remove(name)
		}
	}
	return nil
}

// saveIndex writes a listing of an index under a name of its own, for began to name.
func (p *part) saveIndex(listing []byte) (string, error) {
	sum := sha256.Sum256(listing)
	name := "index-" + hex.EncodeToString(sum[:16])
	if _, err := os.Lstat(filepath.Join(p.dir, name)); err == nil {
		return name, nil
	}
	return name, whole.Write(filepath.Join(p.dir, name), listing, 0o600)
}

func (p *part) loadIndex(b *began) ([]byte, error) {
	return os.ReadFile(filepath.Join(p.dir, filepath.Base(b.Index)))
}

// now reads the user's repository, with a copy of its index if there is one. Refs that belong to a worktree or to what
// the user does there, such as a bisection, are no part of it.
func (p *part) now(ctx context.Context, index string) (s state, err error) {
	if s.refs, err = p.user.Refs(ctx); err != nil {
		return s, err
	}
	for name := range s.refs {
		if apart(name) {
			delete(s.refs, name)
		}
	}
	if s.head, err = p.head(ctx, s.refs); err != nil {
		return s, err
	}
	h := p.user.Host()
	if index != "" {
		h = h.With("GIT_INDEX_FILE=" + index)
	}
	if s.index, err = h.Out(ctx, "ls-files", "--stage", "-z"); err != nil {
		return s, fmt.Errorf("read index: %w", err)
	}
	return s, nil
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

func (p *part) head(ctx context.Context, refs map[string]git.Ref) (h wire.Head, err error) {
	h.Symref, err = p.user.Host().Line(ctx, "symbolic-ref", "-q", "HEAD")
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
