package inside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// ErrLacks says that the box no longer has commits that the host expected there: send everything.
var ErrLacks = errors.New("the box lacks commits that this bundle builds on")

// LacksStatus is the exit status that reports ErrLacks to the host.
const LacksStatus = 66

// Receive makes the session's clone at the base commit, on its branch. It runs before any agent.
func Receive(ctx context.Context, j Job) error {
	if _, err := os.Stat(filepath.Join(j.Workspace, ".git")); err == nil {
		return nil // an earlier attempt got this far
	}
	var err error
	if _, statErr := os.Stat(filepath.Join(j.Exchange, InputRepo)); statErr == nil {
		err = cloneShallow(ctx, j)
	} else {
		err = cloneFromStore(ctx, j)
	}
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	return nil
}

// Lend adds a bundle to the box's store, and so to the workspaces that borrow from it.
func Lend(ctx context.Context, j Job) error {
	if err := fillStore(ctx, j); err != nil {
		return fmt.Errorf("lend: %w", err)
	}
	return nil
}

// cloneFromStore adds the bundle to the box's store and makes a clone that borrows its objects. The store is read-only
// for agents, so that one session can't change what another will check out.
func cloneFromStore(ctx context.Context, j Job) error {
	if err := fillStore(ctx, j); err != nil {
		return err
	}
	half, err := newHalf(j)
	if err == nil {
		err = borrow(half, filepath.Join(j.Store, "objects"))
	}
	if err != nil {
		return err
	}
	return finish(ctx, half, j)
}

// borrow makes the objects of another repository visible in a skeleton.
func borrow(half, objects string) error {
	f, err := os.OpenFile(filepath.Join(half, "objects", "info", "alternates"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(objects + "\n")
	return errors.Join(err, f.Close())
}

// borrowAgain makes the store's objects visible in a workspace that comes from another box. If it can't, git says what
// is missing.
func borrowAgain(j Job) {
	name := filepath.Join(j.Workspace, ".git", borrowed)
	text, err := readUpTo(name, maxExclude)
	objects := filepath.Join(j.Store, "objects")
	if !j.All || j.Store == "" || err != nil || slices.Contains(strings.Split(text, "\n"), objects) ||
		stays(filepath.Join(j.Workspace, ".git"), borrowed) != nil {
		return // a workspace without such a file borrows nothing
	}
	_ = whole.Write(name, []byte(text+objects+"\n"), 0o600)
}

func fillStore(ctx context.Context, j Job) error {
	if err := makeStore(j); err != nil {
		return err
	}
	store := repo{dir: j.Store, bare: true}
	bundle := filepath.Join(j.Exchange, InputBundle)
	if _, err := os.Stat(bundle); err == nil {
		if err := store.run(ctx, "bundle", "unbundle", bundle); err != nil {
			if store.run(ctx, "bundle", "verify", "-q", bundle) != nil {
				return errors.Join(ErrLacks, err)
			}
			return err
		}
	}
	if store.run(ctx, "cat-file", "-e", j.Base+"^{commit}") != nil {
		return ErrLacks
	}
	// The ref keeps the next bundle's prerequisites reachable.
	return whole.Replace(filepath.Join(j.Store, "refs", "cco", j.Base), []byte(j.Base+"\n"), storeMode)
}

// makeStore makes the store a repository, once, even if several sessions do so at the same time or one is killed. Git
// would leave locks then, and nobody to remove them.
func makeStore(j Job) error {
	ready := filepath.Join(j.Store, "cco-ready")
	if _, err := os.Stat(ready); err == nil {
		return nil
	}
	err := errors.Join(os.MkdirAll(filepath.Join(j.Store, "objects"), 0o755), // see storeMode
		os.MkdirAll(filepath.Join(j.Store, "refs"), 0o755), // see storeMode
		whole.Write(filepath.Join(j.Store, "config"), []byte(coreText(j, true)), storeMode),
		whole.Write(filepath.Join(j.Store, "HEAD"), []byte("ref: refs/heads/main\n"), storeMode))
	if err != nil {
		return err
	}
	return whole.Write(ready, nil, storeMode)
}

// storeMode lets all sessions of a box read its store, which may run as users of their own.
const storeMode = 0o644

// newHalf makes the clone's skeleton under a name that marks it as unfinished. It removes one of an earlier attempt. It
// writes the files itself: several git processes would cost more than the rest of a small clone.
func newHalf(j Job) (half string, err error) {
	half = filepath.Join(j.Workspace, ".git.half")
	if err := tree.Remove(half); err != nil {
		return "", err
	}
	return half, skeleton(half, j)
}

// skeleton writes a repository whose branch is at the base.
func skeleton(half string, j Job) error {
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info"} {
		if err := os.MkdirAll(filepath.Join(half, dir), 0o700); err != nil {
			return err
		}
	}
	files := map[string]string{
		"HEAD":        "ref: refs/heads/" + j.Branch + "\n",
		"packed-refs": "# pack-refs with: sorted\n" + j.Base + " refs/heads/" + j.Branch + "\n",
		"config":      configText(j),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(half, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// configText is the configuration of a new repository with the host's identity.
func configText(j Job) string {
	var b strings.Builder
	b.WriteString(coreText(j, false))
	if j.Name != "" || j.Email != "" {
		b.WriteString("[user]\n")
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ", "\t", " ")
	for _, kv := range [][2]string{{"name", j.Name}, {"email", j.Email}} {
		if kv[1] != "" {
			fmt.Fprintf(&b, "\t%s = \"%s\"\n", kv[0], quote.Replace(kv[1]))
		}
	}
	return b.String()
}

// coreText is what every repository's configuration begins with.
func coreText(j Job, bare bool) string {
	version, extensions := 0, ""
	if format(j) != "sha1" {
		version, extensions = 1, "[extensions]\n\tobjectFormat = "+format(j)+"\n"
	}
	return fmt.Sprintf("[core]\n\trepositoryformatversion = %d\n\tfilemode = true\n\tbare = %t\n\tlogallrefupdates = "+
		"%t\n%s", version, bare, !bare, extensions)
}

// cloneShallow copies the shallow repository that was sent: its objects, and where its history is cut.
func cloneShallow(ctx context.Context, j Job) error {
	half, err := newHalf(j)
	if err != nil {
		return err
	}
	source := filepath.Join(j.Exchange, InputRepo)
	if err := tree.Remove(filepath.Join(half, "objects")); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(half, "objects"), os.DirFS(filepath.Join(source, "objects"))); err != nil {
		return err
	}
	shallow, err := os.ReadFile(filepath.Join(source, "shallow"))
	if err == nil {
		err = os.WriteFile(filepath.Join(half, "shallow"), shallow, 0o600)
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	return finish(ctx, half, j)
}

// finish checks out under the skeleton's name: once .git exists, the clone is complete.
func finish(ctx context.Context, half string, j Job) error {
	work := repo{dir: j.Workspace}
	if err := work.run(ctx, "--git-dir="+half, "--work-tree="+j.Workspace, "read-tree", "--reset", "-u",
		j.Base); err != nil {
		return err
	}
	return os.Rename(half, filepath.Join(j.Workspace, ".git"))
}

func format(j Job) string {
	if j.Format == "" {
		return "sha1"
	}
	return j.Format
}
