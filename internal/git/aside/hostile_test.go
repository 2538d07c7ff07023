package aside_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/git/aside"
	"github.com/cco-dev/cco/internal/git/aside/wire"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// says is a cage that says what a test wants, with a pack of what is really new.
func (r *rig) says(change func(*wire.Said)) aside.Inside {
	return func(ctx context.Context, argv []string, stdin io.Reader, stdout io.Writer) error {
		var job wire.Job
		if err := json.NewDecoder(stdin).Decode(&job); err != nil {
			return err
		}
		send := func() (said wire.Said, pack []byte, err error) {
			var real bytes.Buffer
			if err := r.inside(ctx, argv, bytes.NewReader(must.Get(json.Marshal(job))(r.t)), &real); err != nil {
				return said, nil, err
			}
			said, size, err := wire.Read(bytes.NewReader(real.Bytes()), len(r.user.Git("rev-parse", "HEAD")))
			return said, real.Bytes()[size:], err
		}
		said, _, err := send()
		if err != nil {
			return err
		}
		all := slices.Clone(said.Refs)
		change(&said)
		if job.Only == nil {
			job.Only = []string{said.Head, said.Index}
			for _, ref := range append(all, said.Refs...) {
				job.Only = append(job.Only, ref.OID)
			}
		}
		_, pack, err := send()
		if err != nil {
			return err
		}
		if err := wire.Write(stdout, said); err != nil {
			return err
		}
		_, err = stdout.Write(pack)
		return err
	}
}

// setHead says that there is a branch.
func setHead(s *wire.Said, name, oid string) {
	s.Refs = append(s.Refs, wire.Ref{Name: []byte("refs/heads/" + name), OID: oid})
}

// forge makes a commit in the private repository, with one more entry than HEAD has.
func (r *rig) forge(path, mode, oid string) string {
	r.t.Helper()
	hash := func(kind, data string) string {
		c := proc.Cmd{Argv: []string{"git", "hash-object", "-t", kind, "-w", "--literally", "--stdin"}, Dir: r.user.Dir,
			Env: append(os.Environ(), r.env()...), Stdin: strings.NewReader(data)}
		return strings.TrimSpace(string(must.Get(proc.Output(r.t.Context(), c))(r.t)))
	}
	object := func(mode, name, oid string) string {
		return mode + " " + name + "\x00" + string(must.Get(hex.DecodeString(oid))(r.t))
	}
	parts := strings.Split(path, "/")
	if parts[0] == "" {
		parts = []string{path}
	}
	for i := len(parts) - 1; i > 0; i-- {
		mode, oid = "40000", hash("tree", object(mode, parts[i], oid))
	}
	was := object("100644", "a", r.user.Git("rev-parse", "HEAD:a")) +
		object("40000", "dir", r.user.Git("rev-parse", "HEAD:dir"))
	tree := was + object(mode, parts[0], oid)
	if parts[0] < "a" {
		tree = object(mode, parts[0], oid) + was
	}
	tree = hash("tree", tree)
	commit := hash("commit", "tree "+tree+"\nparent "+r.user.Git("rev-parse", "HEAD")+
		"\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nforged\n")
	return commit
}

// untouched checks that the user's repository is as it was. Objects that nothing refers to do no harm.
func (r *rig) untouched(before map[string]string) {
	r.t.Helper()
	for name, sum := range gittest.Fingerprint(r.t, filepath.Join(r.main.Dir, ".git")) {
		if before[name] != sum && !strings.HasPrefix(name, "objects") && !strings.HasPrefix(name, "refs/cco") {
			r.t.Errorf("%s has changed", name)
		}
	}
	r.whole()
}

func TestHostileHeaders(t *testing.T) {
	none := strings.Repeat("1", 40)
	entry := func(path, mode, oid string) func(*rig, *wire.Said) {
		return func(r *rig, s *wire.Said) {
			if oid == "" {
				oid = r.user.Git("rev-parse", "HEAD:a")
			}
			s.Index = r.forge(path, mode, oid)
		}
	}
	head := func(name string) func(*rig, *wire.Said) {
		return func(r *rig, s *wire.Said) { setHead(s, name, r.user.Git("rev-parse", "HEAD~1")) }
	}
	for name, change := range map[string]func(*rig, *wire.Said){
		"a ref outside":         head("../../config"),
		"a name with a newline": head("a\nb"),
		"an option":             head("-x"),
		"HEAD as a branch":      head("HEAD"),
		"a lock":                head("main.lock"),
		"a bad id":              func(_ *rig, s *wire.Said) { setHead(s, "x", "HEAD") },
		"HEAD elsewhere":        func(_ *rig, s *wire.Said) { s.Symref = []byte("refs/../../x") },
		"HEAD as an option":     func(_ *rig, s *wire.Said) { s.Head = "--help" },
		"a blob as a branch": func(r *rig, s *wire.Said) {
			setHead(s, "x", r.user.Git("rev-parse", "HEAD:a"))
		},
		"a branch that is not there": func(_ *rig, s *wire.Said) { setHead(s, "x", none) },
		"a HEAD that is not there":   func(_ *rig, s *wire.Said) { s.Symref, s.Head = nil, none },
		"HEAD on a tag":              func(_ *rig, s *wire.Said) { s.Symref = []byte("refs/tags/x") },
		"a hook in the index":        entry(".git/hooks/x", "100755", ""),
		"a hook, spelt otherwise":    entry("x/.GIT/hooks/x", "100755", ""),
		"a hook on HFS":              entry(".g\u200cit/hooks/x", "100755", ""),
		"a hook on NTFS":             entry("git~1/hooks/x", "100755", ""),
		"a hook with a backslash":    entry(`.git\hooks\x`, "100755", ""),
		"an absolute path":           entry("/etc/x", "100644", ""),
		"a path that leads up":       entry("x/../../y", "100644", ""),
		"an odd mode":                entry("x", "040000", ""),
		"a blob that is not there":   entry("x", "100644", none),
		"an index with no object":    entry("x", "100644", strings.Repeat("0", 40)),
		"a nested repository":        entry("x", "160000", none),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "main")
			before := gittest.Fingerprint(t, filepath.Join(r.main.Dir, ".git"))
			rep, err := r.repo.Take(t.Context(), r.says(func(s *wire.Said) { change(r, s) }))
			t.Logf("%+v, %v", rep, err)
			if err == nil && len(rep.Refused)+len(rep.Kept)+len(rep.IndexLeft) == 0 && rep.HeadLeft == "" {
				t.Error("nothing was said of it")
			}
			r.untouched(before)
		})
	}
}

// Guards against a stream that is cut anywhere, as by kill -9.
func TestStreamsThatBreakOff(t *testing.T) {
	r := newRig(t, "main")
	tip := r.commit("new", "x\n")
	before := gittest.Fingerprint(t, filepath.Join(r.main.Dir, ".git"))
	var all bytes.Buffer
	must.Get(r.repo.Take(t.Context(), func(ctx context.Context, argv []string, in io.Reader, _ io.Writer) error {
		must.Do(t, r.inside(ctx, argv, in, &all))
		return errors.New("killed")
	}))
	for _, part := range []int{0, 1, all.Len() / 4, all.Len() / 2, all.Len() - 40, all.Len() - 1} {
		_, err := r.repo.End(t.Context(), func(_ context.Context, _ []string, _ io.Reader, out io.Writer) error {
			_, err := out.Write(all.Bytes()[:part])
			return errors.Join(err, errors.New("killed"))
		})
		if err == nil {
			t.Errorf("%d bytes of %d were enough", part, all.Len())
		}
		if err := r.repo.Refresh(t.Context()); !errors.Is(err, aside.ErrPending) {
			t.Errorf("Refresh: %v", err)
		}
		r.untouched(before)
	}
	r.end()
	r.at("main", tip)
}

func TestHostilePacks(t *testing.T) {
	t.Run("nonsense", func(t *testing.T) {
		r := newRig(t, "main")
		r.commit("new", "x\n")
		before := gittest.Fingerprint(t, filepath.Join(r.main.Dir, ".git"))
		rep := must.Get(r.repo.Take(t.Context(), func(ctx context.Context, argv []string, in io.Reader, out io.Writer) error {
			var real bytes.Buffer
			must.Do(t, r.inside(ctx, argv, in, &real))
			bad := real.Bytes()
			bad[len(bad)-30] ^= 0xff
			_, err := out.Write(bad)
			return err
		}))(t)
		if len(rep.Refused) != 1 || len(rep.Moved) != 0 {
			t.Errorf("report %+v", rep)
		}
		r.untouched(before)
	})
	t.Run("too large", func(t *testing.T) {
		r := newRig(t, "main")
		r.repo = must.Get(aside.Open(t.Context(), r.dir, r.user.Dir,
			aside.Options{Limits: quarantine.Limits{PackBytes: 1000, ObjectBytes: 500}}))(t)
		tip := r.commit("small", "x\n")
		r.git("switch", "-q", "-c", "large")
		r.user.Write("large", must.Get(randomText(4000))(t))
		r.git("add", "large")
		r.git("commit", "-q", "-m", "large")
		rep := r.end()
		if len(rep.Refused) != 1 || rep.Refused[0].Branch != "large" {
			t.Errorf("report %+v", rep)
		}
		r.at("main", tip)
		r.at("large", "")
		// What was refused stays inside.
		must.Do(t, r.repo.Refresh(t.Context()))
		if r.git("rev-parse", "refs/cco/refused/"+rep.Refused[0].Commit) != rep.Refused[0].Commit {
			t.Error("a commit is lost")
		}
	})
	t.Run("endless", func(t *testing.T) {
		r := newRig(t, "main")
		r.repo = must.Get(aside.Open(t.Context(), r.dir, r.user.Dir,
			aside.Options{Limits: quarantine.Limits{PackBytes: 1000}}))(t)
		_, err := r.repo.Take(t.Context(), func(_ context.Context, _ []string, _ io.Reader, out io.Writer) error {
			b := make([]byte, 1<<20)
			for {
				if _, err := out.Write(b); err != nil {
					return err
				}
			}
		})
		if err == nil {
			t.Error("no end")
		}
	})
	t.Run("a link that leaves the tree", func(t *testing.T) {
		r := newRig(t, "main")
		tip := r.commit("good", "x\n")
		r.git("switch", "-q", "-c", "bad")
		must.Do(t, os.Symlink("../../../etc/passwd", r.user.Path("link")))
		r.git("add", "link")
		r.git("commit", "-q", "-m", "link")
		rep := r.end()
		if len(rep.Refused) != 1 || rep.Refused[0].Branch != "bad" || rep.HeadLeft == "" {
			t.Errorf("report %+v", rep)
		}
		r.at("main", tip)
		r.at("bad", "")
	})
}

// Guards against a commit that comes with the pack of another and is named later, when the user has it.
func TestSmuggledCommit(t *testing.T) {
	r := newRig(t, "main")
	r.git("switch", "-q", "-c", "bad")
	must.Do(t, os.Symlink("../../../etc/passwd", r.user.Path("link")))
	r.git("add", "link")
	r.git("commit", "-q", "-m", "link")
	bad := r.git("rev-parse", "HEAD")
	r.git("switch", "-q", "main")
	tip := r.commit("good", "x\n")
	must.Get(r.repo.Take(t.Context(), r.says(func(s *wire.Said) {
		s.Refs = slices.DeleteFunc(s.Refs, func(ref wire.Ref) bool { return string(ref.Name) == "refs/heads/bad" })
	})))(t)
	r.at("main", tip)
	r.user.Git("cat-file", "-e", bad)
	if rep := r.end(); len(rep.Refused) != 1 || rep.Refused[0].Commit != bad {
		t.Errorf("report %+v", rep)
	}
	r.at("bad", "")
}

// Guards against an agent that has the user's repository filled with branches.
func TestManyBranches(t *testing.T) {
	r := newRig(t, "main")
	before := gittest.Fingerprint(t, filepath.Join(r.main.Dir, ".git"))
	r.commit("new", "x\n")
	_, err := r.repo.Take(t.Context(), r.says(func(s *wire.Said) {
		for i := range 520 {
			setHead(s, fmt.Sprintf("b%03d", i), s.Head)
		}
	}))
	if err == nil || !strings.Contains(err.Error(), "more than 500 branches moved") {
		t.Errorf("Take: %v", err)
	}
	r.untouched(before)
}

func TestNestedRepositories(t *testing.T) {
	r := newRig(t, "main")
	nested := gittest.Init(t, r.user.Path("nested"))
	nested.Commit("one", "x", "x\n")
	r.git("add", "nested")
	rep := r.take()
	if rep.Index != 0 || len(rep.IndexLeft) != 1 {
		t.Errorf("staged: %+v", rep)
	}
	before := r.user.Git("rev-parse", "HEAD")
	r.git("commit", "-q", "-m", "nested")
	tip := r.git("rev-parse", "HEAD")
	rep = r.take()
	if len(rep.Kept) != 1 || rep.Kept[0].Commit != tip {
		t.Errorf("committed: %+v", rep)
	}
	r.at("main", before)
	r.at(rep.Kept[0].Ref, tip)
	// Guards against a commit that counts as the user's because it is kept beside the user's branches.
	if rep = r.take(); len(rep.Moved) != 0 {
		t.Errorf("it came at the second time: %+v", rep)
	}
	r.git("branch", "again")
	if rep = r.take(); len(rep.Moved) != 0 {
		t.Errorf("it came by another name: %+v", rep)
	}
	r.git("branch", "-q", "-D", "again")
	r.at("main", before)
	r.git("rm", "-q", "--cached", "nested")
	r.git("commit", "-q", "-m", "not nested")
	rep = r.end()
	r.at("main", r.git("rev-parse", "HEAD"))
	r.status("?? nested/")
}

// Guards against an answer that was cut off, by a bound or a full disk, and taken for a whole one: a cage that breaks
// off need not fail.
func TestAnAnswerThatWasCutOffIsNone(t *testing.T) {
	r := newRig(t, "linked")
	want := r.commit("new", "x")
	long := must.Get(aside.Open(t.Context(), r.dir, r.user.Dir, aside.Options{Limits: quarantine.Limits{PackBytes: 1}}))(t)
	_, err := long.End(t.Context(), func(_ context.Context, _ []string, _ io.Reader, out io.Writer) error {
		_, _ = out.Write([]byte("{}\n"))
		_, _ = out.Write(make([]byte, wire.MaxHeader))
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "it says too much") {
		t.Errorf("%v", err)
	}
	r.end()
	r.at("work", want)
}

// Guards against work that is put aside as unreadable, because the user's git was at work.
func TestALockOfTheUsersIsWaitedFor(t *testing.T) {
	r := newRig(t, "main")
	want := r.commit("new", "x")
	r.user.Write(".git/index.lock", "")
	if _, err := r.repo.End(t.Context(), r.inside); !errors.Is(err, aside.ErrUser) {
		t.Errorf("%v", err)
	}
	must.Do(t, os.Remove(filepath.Join(r.user.Dir, ".git/index.lock")))
	r.end()
	r.at("main", want)
	r.status("")
}

// Guards against settings of git that an agent can change, because the user's include them from the worktree.
func TestIncludedSettingsAreHeld(t *testing.T) {
	for _, kind := range kinds {
		r := newRig(t, kind)
		r.user.Write("mine.config", "")
		r.user.Write("conf/theirs", "")
		r.user.Write("other", "")
		r.main.Git("config", "include.path", "../mine.config")
		r.main.Git("config", "includeIf.onbranch:x.path", filepath.Join(r.user.Dir, "conf/theirs"))
		r.main.Git("config", "--add", "include.path", filepath.Join(r.user.Dir, "missing"))
		r.main.Git("config", "user.nick", "other")
		r.open()
		var held []string
		for _, name := range must.Get(r.repo.Holds(t.Context()))(t).Kept {
			held = append(held, strings.TrimPrefix(name, must.Get(filepath.EvalSymlinks(r.user.Dir))(t)+"/"))
		}
		want := map[string]string{"linked": ".git conf/theirs", "main": "conf/theirs mine.config"}[kind]
		if got := strings.Join(held, " "); got != want {
			t.Errorf("%s: %q is held, want %q", kind, got, want)
		}
	}
}

// Guards against an agent that makes cco wait, write elsewhere or run a program.
func TestHostilePrivateRepository(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	must.Do(t, os.MkdirAll(filepath.Join(secret, "heads"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(secret, "exclude"), []byte("mine"), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(secret, "heads", "x"), []byte("mine"), 0o600))
	fifo := func(name string) func(*rig) {
		return func(r *rig) {
			_ = os.Remove(r.private(name))
			must.Do(r.t, syscall.Mkfifo(r.private(name), 0o600))
		}
	}
	link := func(name string) func(*rig) {
		return func(r *rig) {
			must.Do(r.t, os.RemoveAll(r.private(name)))
			must.Do(r.t, os.Symlink(secret, r.private(name)))
		}
	}
	for name, do := range map[string]func(*rig){
		"a FIFO as a ref":         fifo("refs/heads/fifo"),
		"a FIFO as exclude":       fifo("info/exclude"),
		"a FIFO as shallow":       fifo("shallow"),
		"a FIFO beside":           fifo("objects/fifo"),
		"info is a link":          link("info"),
		"refs/tags is a link":     link("refs/tags"),
		"modules is a link":       link("modules"),
		"logs is a link":          link("logs"),
		"logs/refs is a link":     link("logs/refs"),
		"worktrees is a link":     link("worktrees"),
		"a huge ref":              func(r *rig) { sparse(r, "refs/heads/huge") },
		"a huge shallow":          func(r *rig) { sparse(r, "shallow") },
		"a huge index":            func(r *rig) { sparse(r, "index") },
		"no index":                func(r *rig) { must.Do(r.t, os.Remove(r.private("index"))) },
		"a directory as exclude":  func(r *rig) { mkdirInstead(r, "info/exclude") },
		"a directory as shallow":  func(r *rig) { mkdirInstead(r, "shallow") },
		"closed":                  func(r *rig) { must.Do(r.t, os.Chmod(r.private("info"), 0)) },
		"a config with a program": func(r *rig) { r.git("config", "core.fsmonitor", "touch "+r.main.Path("ran")) },
		"a hook":                  func(r *rig) { hook(r) },
		"a sparse file":           func(r *rig) { sparse(r, "packed-refs.new") },
		"deep":                    func(r *rig) { mkdirInstead(r, "refs/tags"+strings.Repeat("/d", 800)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "main")
			tip := r.commit("new", "x\n")
			do(r)
			r.end()
			_ = os.Remove(r.main.Path("ran")) // the agent's own git may run it, inside
			r.at("main", tip)
			r.status("")
			must.Do(t, r.repo.Refresh(t.Context()))
			r.git("status")
			do(r)
			r.end()
			// Where the user has gone on, HEAD and the index are put there anew.
			r.user.Commit("the user's", "users", "x\n")
			must.Do(t, r.repo.Refresh(t.Context()))
			r.git("status")
			_ = os.Remove(r.main.Path("ran"))
			tip = r.commit("newer", "x\n")
			r.end()
			r.at("main", tip)
			r.status("")
			if _, err := os.Lstat(r.main.Path("ran")); err == nil {
				t.Error("a program of the agent's ran")
			}
			if got := string(must.Get(os.ReadFile(filepath.Join(secret, "exclude")))(t)); got != "mine" {
				t.Errorf("exclude was written: %q", got)
			}
			if got := string(must.Get(os.ReadFile(filepath.Join(secret, "heads", "x")))(t)); got != "mine" {
				t.Errorf("a ref was written: %q", got)
			}
		})
	}
}

// sparse makes a file that costs nothing and has no end.
func sparse(r *rig, name string) {
	must.Do(r.t, os.WriteFile(r.private(name), nil, 0o600))
	must.Do(r.t, os.Truncate(r.private(name), 1<<40))
}

func mkdirInstead(r *rig, name string) {
	_ = os.Remove(r.private(name))
	must.Do(r.t, os.MkdirAll(r.private(name+"/x"), 0o700))
}

func hook(r *rig) {
	must.Do(r.t, os.MkdirAll(r.private("hooks"), 0o700))
	for _, name := range []string{"reference-transaction", "post-index-change", "post-checkout"} {
		must.Program(r.t, r.private("hooks/"+name), "#!/bin/sh\ntouch "+r.main.Path("ran")+"\n")
	}
}
