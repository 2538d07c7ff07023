// Package aside keeps a private repository beside a worktree of the user's, for an agent in a cage: git works there and
// writes nothing of the user's, and what the agent has committed is brought over from there.
//
// No git outside the cage ever opens the private repository. What is in it was written by an agent.
package aside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/paths"
)

// ErrPending says that a cage may have left something that was not brought over: End comes before Refresh.
var ErrPending = errors.New("what an earlier cage left here was not brought over yet")

// ErrUser says that the user's repository could not be changed, as while another git is at work there. What is new is
// not lost: the next End tries again.
var ErrUser = errors.New("your repository can't take it now")

// Options say what cage the private repository is for.
type Options struct {
	// Mounts says that the cage shows what Mounts names. Without, git in the cage is led to GitDir by variables.
	Mounts bool
	// Exclude are patterns that git inside overlooks beside the user's own.
	Exclude []string
	Limits  quarantine.Limits
}

// Inside runs cco-box with arguments in a cage without network that shows the private repository.
type Inside func(ctx context.Context, argv []string, stdin io.Reader, stdout io.Writer) error

// Mount is something that a cage shows at another place.
type Mount struct {
	Source, Target string
	ReadOnly       bool
}

// Repo is the private repository of one worktree of the user's, with those of its submodules.
type Repo struct {
	dir     string
	options Options
	parts   []*part // the worktree's own comes first
}

// part is a repository of the user's and its private counterpart: the worktree's own, or a submodule's.
type part struct {
	user     *git.Repo
	name     string // of the refs that keep what did not come over
	dir      string // cco's data, out of the agent's reach but for common
	root     string // what covers the common directory of the user's worktree in the cage
	common   string // below it, the counterpart of user.CommonDir
	gitDir   string // the counterpart of user.GitDir
	inside   string // where the cage has gitDir
	worktree string // for its configuration, where git would not find it
	sub      string // a submodule's git directory below the user's common one; "" for the worktree's own
	options  Options
}

// Open finds the private repository of a worktree in dir, a directory of cco's own, and makes nothing in it. One
// process at a time may use it.
func Open(ctx context.Context, dir, worktree string, o Options) (*Repo, error) {
	user, err := git.Open(ctx, worktree)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	r := &Repo{dir: dir, options: o}
	own := r.newPart(user, dir, filepath.Join(dir, "common"), "")
	if err := own.unmoved(); err != nil {
		return nil, err
	}
	r.parts = []*part{own}
	return r, r.addSubmodules(ctx)
}

func (r *Repo) newPart(user *git.Repo, dir, common, sub string) *part {
	p := &part{user: user, dir: dir, root: filepath.Join(r.dir, "common"), common: common, sub: sub, options: r.options}
	rel, err := filepath.Rel(user.CommonDir, user.GitDir)
	if err != nil {
		rel = "."
	}
	p.gitDir = filepath.Join(common, rel)
	p.inside, p.name = p.gitDir, plainName(filepath.Base(user.Top))
	if r.options.Mounts {
		p.inside = user.GitDir
	}
	if rel != "." {
		p.name = plainName(filepath.Base(rel))
	} else if user.GitDir != filepath.Join(user.Top, ".git") {
		p.worktree = user.Top
	}
	return p
}

// unmoved refuses a worktree whose .git leads elsewhere than it did: an agent may have replaced it.
func (p *part) unmoved() error {
	b, err := p.load()
	if err != nil || b == nil {
		return err
	}
	if b.GitDir != p.user.GitDir || b.CommonDir != p.user.CommonDir {
		return fmt.Errorf("%s is a worktree of %s, and was one of %s", git.Quote(p.user.Top), git.Quote(p.user.CommonDir),
			git.Quote(b.CommonDir))
	}
	return nil
}

// Pending says whether a cage may have left something that was not brought over.
func (r *Repo) Pending() (bool, error) {
	b, err := r.parts[0].load()
	return b != nil && b.Open, err
}

// Mounts are what a cage shows, in the order in which they are made: the user's objects, which are below the user's
// common directory, come before what covers that. Without mounts they are what a cage lets git reach where it is, and
// the user's common directory, which has no source, is not to be read: its configuration may hold a login.
func (r *Repo) Mounts() []Mount {
	var objects, configs []Mount
	if own := r.parts[0]; !r.options.Mounts {
		all := []Mount{{Target: own.user.CommonDir}, {Source: own.common, Target: own.common}}
		for _, p := range r.parts {
			at := filepath.Join(p.user.CommonDir, "objects")
			all = append(all, Mount{Source: at, Target: at, ReadOnly: true})
		}
		return all
	}
	for _, p := range r.parts {
		common := p.user.CommonDir
		objects = append(objects, Mount{Source: filepath.Join(common, "objects"), Target: p.theirs(), ReadOnly: true})
		configs = append(configs, Mount{Source: filepath.Join(p.dir, "config"), Target: filepath.Join(common, "config"),
			ReadOnly: true})
	}
	own := r.parts[0]
	return slices.Concat(objects, []Mount{{Source: own.common, Target: own.user.CommonDir}}, configs)
}

// Settings are those of git that are the user's, and not the repository's.
func (r *Repo) Settings() []git.Setting { return r.parts[0].user.Settings("global") }

// GitDir is the private repository of the worktree itself.
func (r *Repo) GitDir() string { return r.parts[0].gitDir }

// InWorktree says whether the user's repository lies in the worktree, as in a main one: no rule can keep it from a
// program that may write all around it.
func (r *Repo) InWorktree() bool { return paths.Within(r.parts[0].user.CommonDir, r.parts[0].user.Top) }

// theirs is where the private repository borrows the user's objects from.
func (p *part) theirs() string { return filepath.Join(p.dir, "theirs") }
