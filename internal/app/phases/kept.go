package phases

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/whole"
)

// kept is where the commits of phases are kept for other machines: in the shared database, or in a directory that all
// machines have. A file's name is made here from what was checked, and never taken from a row; what is in it is
// examined as every bundle is.
type kept struct {
	dir  string // "" for the database
	most int64  // bytes of a bundle
}

func keptIn(cfg config.Config) kept { return kept{dir: cfg.Engine.Bundles, most: cfg.Engine.BundleMax} }

// LargeBundleError says that the commits of a phase are too large to be kept for other machines.
type LargeBundleError struct{ Size, Most int64 }

func (e *LargeBundleError) Error() string {
	return fmt.Sprintf("the commits of this phase have %d bytes, more than engine.bundle_max (%d), so that no other "+
		"machine could go on with them: they stay in the workspace; set engine.bundle_max higher on all machines (and "+
		"engine.bundles to a directory that they share, if the database should not hold so much), start the workers "+
		"again, and go on with `cco cruise resume`", e.Size, e.Most)
}

// WrongState marks an error about a state.
func (e *LargeBundleError) WrongState() {}

// bundle bundles the commits up to head that base does not have.
func bundle(ctx context.Context, repo *git.Repo, dir, head, base string, most int64) (b store.Bundle, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return b, err
	}
	file := filepath.Join(dir, "kept.bundle")
	defer func() { err = errors.Join(err, os.RemoveAll(file)) }()
	if err := errors.Join(os.RemoveAll(file), repo.BundleOf(ctx, file, quarantine.OutRef, head, base)); err != nil {
		return b, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return b, err
	}
	if info.Size() > most {
		return b, &LargeBundleError{Size: info.Size(), Most: most}
	}
	b.Base, b.Head = base, head
	b.Data, err = os.ReadFile(file)
	return b, err
}

func (k kept) file(phase, name, head string) string {
	return filepath.Join(k.dir, phase+"-"+name+"-"+head+".bundle")
}

// put writes a bundle into the directory, if there is one; the row that names it comes after that.
func (k kept) put(b *store.Bundle) error {
	if k.dir == "" {
		return nil
	}
	// Workers of other users read it, if the directory has a group of theirs.
	if err := whole.Write(k.file(b.Phase, b.Name, b.Head), b.Data, 0o640); err != nil {
		return fmt.Errorf("keep commits in engine.bundles: %w", err)
	}
	b.Data = []byte{}
	return nil
}

// get reads a bundle from the directory, if the row has none.
func (k kept) get(b *store.Bundle) error {
	if len(b.Data) > 0 {
		return nil
	}
	if k.dir == "" {
		return &serve.UnfitError{Why: "its commits are in a directory: set engine.bundles as on the other machines"}
	}
	if !git.IsOID(b.Head, 40) && !git.IsOID(b.Head, 64) {
		return &serve.UnfitError{Why: "its kept commits have no name"}
	}
	f, err := os.Open(k.file(b.Phase, b.Name, b.Head))
	if err != nil {
		return fmt.Errorf("read kept commits from engine.bundles: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read kept commits from engine.bundles: %w", err)
	}
	if info.Size() > k.most {
		return &LargeBundleError{Size: info.Size(), Most: k.most}
	}
	b.Data = make([]byte, info.Size())
	_, err = f.ReadAt(b.Data, 0)
	return err
}

// files lists the files of a phase's bundles of a name. Those that are to be removed are listed before others may be
// written: another machine may have the phase by the time that they are.
func (k kept) files(phase, name string) ([]string, error) {
	if k.dir == "" {
		return nil, nil
	}
	return filepath.Glob(k.file(phase, name, "*"))
}

// remove removes files but one.
func (k kept) remove(files []string, but string) (err error) {
	for _, file := range files {
		if file == but {
			continue
		}
		if bad := os.Remove(file); !errors.Is(bad, fs.ErrNotExist) {
			err = errors.Join(err, bad)
		}
	}
	return err
}
