package quarantine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/git"
)

// Imported is what an import wrote.
type Imported struct {
	Ref    string `json:"ref"`
	WipRef string `json:"wip_ref,omitempty"`
	// Kept are refs that now hold what Ref and WipRef held before, where the new commits don't contain it.
	Kept []string `json:"kept,omitempty"`
}

// Import moves the objects into the user's repository, and writes refs/cco/<id> and refs/cco/<id>-wip, both or none.
// It refuses unless Examine has passed. It can be repeated, and loses nothing that an earlier import brought.
func (q *Repo) Import(ctx context.Context, id string) (Imported, error) {
	if !q.examined {
		return Imported{}, errors.New("import: not examined")
	}
	if id == "" || len(id) > 64 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return Imported{}, fmt.Errorf("import: not an id: %s", git.Quote(id))
	}
	done, err := q.movePack()
	if err != nil {
		return Imported{}, fmt.Errorf("import objects: %w", err)
	}
	defer done()
	res := Imported{Ref: "refs/cco/" + id}
	want := []git.NamedRef{{Name: res.Ref, OID: q.found.Tip}}
	if q.found.Wip != "" {
		res.WipRef = res.Ref + "-wip"
		want = append(want, git.NamedRef{Name: res.WipRef, OID: q.found.Wip})
	}
	if res.Kept, err = q.repo.SetRefs(ctx, want); err != nil {
		return Imported{}, fmt.Errorf("write %s: %w", res.Ref, err)
	}
	return res, nil
}

// Parts are the names of what was found: head, uncommitted, and what was kept by its own name. With a name they are the
// one that it means, as git or a restore has printed it: side, refs/heads/side, stash@{0}, refs/cco/<id>/stash/0.
func (f Found) Parts(name string) (parts []git.NamedRef) {
	if f.Tip != f.Base {
		parts = append(parts, git.NamedRef{Name: "head", OID: f.Tip})
	}
	if f.Wip != "" {
		parts = append(parts, git.NamedRef{Name: "uncommitted", OID: f.Wip})
	}
	parts = append(parts, f.Kept...)
	if name == "" {
		return parts
	}
	name = strings.TrimPrefix(name, "refs/")
	if rest, ok := strings.CutPrefix(name, "cco/"); ok {
		_, name, _ = strings.Cut(rest, "/")
	}
	if n, ok := strings.CutPrefix(name, "stash@{"); ok {
		name = "stash/" + strings.TrimSuffix(n, "}")
	}
	return slices.DeleteFunc(parts, func(p git.NamedRef) bool { return p.Name != name && p.Name != "heads/"+name })
}

// Part writes a bundle of one part, so that nothing comes with it that the others need. It goes through another
// quarantine.
func (q *Repo) Part(ctx context.Context, part git.NamedRef, file string) error {
	ref := KeptRef + part.Name
	switch part.OID {
	case q.found.Tip:
		ref = OutRef
	case q.found.Wip:
		ref = WipRef
	}
	if err := q.host.Run(ctx, nil, "update-ref", ref, part.OID); err != nil {
		return err
	}
	args := []string{"bundle", "create", "-q", file, ref}
	for _, oid := range q.needs {
		args = append(args, "^"+oid)
	}
	return q.host.Run(ctx, nil, args...)
}

// ImportBelow moves the objects into the user's repository, and writes refs below prefix: head, uncommitted, and what
// was kept by its own names; all or none. It refuses unless Examine has passed, and loses nothing that was there.
func (q *Repo) ImportBelow(ctx context.Context, prefix string) (refs, kept []string, err error) {
	if !q.examined {
		return nil, nil, errors.New("import: not examined")
	}
	done, err := q.movePack()
	if err != nil {
		return nil, nil, fmt.Errorf("import objects: %w", err)
	}
	defer done()
	want := q.found.Parts("")
	for i := range want {
		want[i].Name = prefix + "/" + want[i].Name
	}
	if len(want) == 0 {
		return nil, nil, nil
	}
	if kept, err = q.repo.SetRefs(ctx, want); err != nil {
		return nil, nil, fmt.Errorf("write refs below %s: %w", prefix, err)
	}
	for _, w := range want {
		refs = append(refs, w.Name)
	}
	return refs, kept, nil
}

// movePack puts the pack into the user's object store. Git can't remove the pack until done is called, although nothing
// refers to it before the refs are written.
func (q *Repo) movePack() (done func(), err error) {
	if q.pack == "" {
		return func() {}, nil // nothing was unpacked
	}
	from, to := filepath.Join(q.Dir, "objects", "pack"), filepath.Join(q.repo.CommonDir, "objects", "pack")
	if err := os.MkdirAll(to, 0o777); err != nil {
		return nil, err
	}
	keep := filepath.Join(to, q.pack+".keep")
	f, err := os.OpenFile(keep, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	// An existing one belongs to a killed import, or to another pull of the same bundle at this moment. Either way it may
	// go when the refs are there.
	if err == nil {
		_, _ = f.WriteString("cco import\n")
		_ = f.Close()
	}
	done = func() { _ = os.Remove(keep) }
	// Git finds a pack by its index, so that comes last.
	for _, ext := range []string{".pack", ".rev", ".idx"} {
		err := install(filepath.Join(from, q.pack+ext), filepath.Join(to, q.pack+ext))
		if err != nil && (ext != ".rev" || !errors.Is(err, fs.ErrNotExist)) {
			done()
			return nil, err
		}
	}
	return done, syncDir(to)
}

// install makes src appear at dst, complete: as a link if possible, since nobody writes to src any more.
func install(src, dst string) error {
	if _, err := os.Lstat(dst); err == nil {
		return nil
	}
	dir, err := os.Stat(filepath.Dir(dst))
	if err != nil {
		return err
	}
	// Everyone who can read the store may read what is put into it; git prunes names like this one if we die here.
	tmp := filepath.Join(filepath.Dir(dst), fmt.Sprintf("tmp_cco_%d_%s", os.Getpid(), filepath.Base(dst)))
	_ = os.Remove(tmp)
	if err := os.Link(src, tmp); errors.Is(err, fs.ErrNotExist) {
		return err
	} else if err != nil {
		if err := copyFile(src, tmp); err != nil {
			_ = os.Remove(tmp)
			return err
		}
	}
	if err := os.Chmod(tmp, dir.Mode().Perm()&0o444); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return os.Rename(tmp, dst)
}

func copyFile(src, dst string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}
