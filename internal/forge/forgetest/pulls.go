package forgetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git"
)

func opensOne(p *place) {
	f := p.as(Ada, "")
	_, err := f.Find(p.Context(), "topic")
	if !is[*forge.NoPullError](err) {
		p.Fatalf("a branch without a request gives %v", err)
	}
	first := p.open(f, "topic")
	if first.State != forge.Open || first.Head.Name != "topic" || first.Base.Name != "main" || first.Author != Ada ||
		first.Draft {
		p.Errorf("opened %+v", first)
	}
	// Two at once, by two processes, for a branch that has none yet.
	p.commit("both", "both", map[string]string{"both.txt": "x\n"})
	p.push("both")
	var wg sync.WaitGroup
	var pulls [2]forge.Pull
	var errs [2]error
	for i, f := range []Forge{p.as(Ada, ""), p.as(Ada, "")} {
		wg.Go(func() {
			pulls[i], _, errs[i] = f.Open(p.Context(), forge.NewPull{Head: "both", Base: "main", Title: "Both", Draft: true})
		})
	}
	wg.Wait()
	p.must(errors.Join(errs[:]...))
	if pulls[0].Number != pulls[1].Number || !pulls[0].Draft || pulls[0].Title != "Both" {
		p.Errorf("two at once: %+v and %+v", pulls[0], pulls[1])
	}
	again, existed, err := f.Open(p.Context(), forge.NewPull{Head: "topic", Base: "main", Title: "Other"})
	p.must(err)
	if !existed || again.Number != first.Number || again.Title != first.Title {
		p.Errorf("opened again: %v %+v", existed, again)
	}
	// The server did its work and the answer was lost.
	for _, fault := range []mishap{{Lose: 500}, {DropAfter: true}, {DropBefore: true}} {
		name := "lost" + p.git("rev-list", "--count", "--all")
		p.commit(name, name, map[string]string{name: "x\n"})
		p.push(name)
		p.proxy.Inject(fault, 1, api("POST", "/pulls"))
		made, _, err := f.Open(p.Context(), forge.NewPull{Head: name, Base: "main", Title: name})
		p.must(err)
		if p.proxy.Heal() != 0 {
			p.Error("the fault did not come to pass")
		}
		found, err := f.Find(p.Context(), name)
		p.must(err)
		if found.Number != made.Number {
			p.Errorf("%+v: made %d, found %d", fault, made.Number, found.Number)
		}
	}
}

// Guards against a branch that has the name of one that was merged: its request is not the old one. The old branch is
// not deleted first: a little later, Gitea then closes any request for a branch of that name.
func opensAnew(p *place) {
	f := p.as(Ada, "")
	old := p.open(f, "topic")
	p.merge(f, old.Number)
	head := p.commit("topic", "the name again", map[string]string{"again.txt": "x\n"})
	p.push("topic")
	n := forge.NewPull{Key: "phase 2", Head: "topic", Base: "main", Title: "Anew", Body: "words"}
	made, existed, err := f.Open(p.Context(), n)
	p.must(err)
	if existed || made.Number == old.Number || made.State != forge.Open || made.Body != "words" ||
		made.Head.Commit != head {
		p.Fatalf("opened %v %+v, the old one is %d", existed, made, old.Number)
	}
	// Ours is found again by the record, also by a process that comes after a crash and a merge.
	p.merge(f, made.Number)
	again, existed, err := p.as(Ada, "").Open(p.Context(), n)
	p.must(err)
	if !existed || again.Number != made.Number || again.State != forge.Merged {
		p.Errorf("found %v %+v", existed, again)
	}
}

func readsState(p *place) {
	f := p.as(Ada, "")
	const topic = "feat/topic"
	pull := p.open(f, topic)
	r, err := f.Repository(p.Context())
	p.must(err)
	if r.DefaultBranch != "main" || !r.CanPush || r.Name != p.remote.Name {
		p.Errorf("repository %+v", r)
	}
	now := p.settled(f, pull.Number, forge.MergeClean)
	if now.Mergeable != forge.MergeClean || now.Head.Commit != p.git("rev-parse", topic) {
		p.Errorf("open request: %+v", now)
	}
	err = f.Merge(p.Context(), pull.Number, strings.Repeat("1", 40))
	if !is[*forge.ConflictError](err) {
		p.Errorf("merging another head gives %v", err)
	}
	p.merge(f, pull.Number)
	p.must(f.Merge(p.Context(), pull.Number, now.Head.Commit)) // it is merged: nothing to do
	if now, err = f.Pull(p.Context(), pull.Number); err != nil || now.State != forge.Merged {
		p.Errorf("merged request: %+v %v", now, err)
	}
	err = f.DeleteBranch(p.Context(), topic, strings.Repeat("1", 40))
	if !is[*forge.ConflictError](err) {
		p.Errorf("deleting a branch that is elsewhere gives %v", err)
	}
	if at, err := f.Branch(p.Context(), topic); err != nil || at != now.Head.Commit {
		p.Errorf("the branch is at %q %v", at, err)
	}
	p.must(f.DeleteBranch(p.Context(), topic, now.Head.Commit))
	for _, none := range []string{topic, "top", "feat"} {
		if at, err := f.Branch(p.Context(), none); err != nil || at != "" {
			p.Errorf("a branch %s that there isn't is at %q %v", none, at, err)
		}
	}
	p.must(f.DeleteBranch(p.Context(), topic, now.Head.Commit)) // it is gone: nothing to do
	found, err := f.Find(p.Context(), topic)
	if err != nil || found.State != forge.Merged {
		p.Errorf("after the merge the branch's request is %+v %v", found, err)
	}
	// Two that change the same lines.
	one, two := p.open(f, "one"), p.open(f, "two")
	p.git("reset", "-q", "--hard")
	p.commit("two", "conflict", map[string]string{"code.txt": "all new\n"})
	p.push("two")
	p.merge(f, one.Number)
	if now := p.settled(f, two.Number, forge.MergeConflict); now.Mergeable != forge.MergeConflict {
		p.Errorf("a request in conflict is %q", now.Mergeable)
	}
}

// settled waits until the forge has worked out whether a request can be merged, and says what is wanted: Gitea calls a
// request that it has not looked at one in conflict.
func (p *place) settled(f Forge, number int, want forge.Mergeable) (pull forge.Pull) {
	p.Helper()
	p.await(func() bool {
		var err error
		pull, err = f.Pull(p.Context(), number)
		p.must(err)
		return pull.Mergeable == want && pull.Head.Commit == p.git("rev-parse", pull.Head.Name)
	})
	return pull
}

// merge merges a request, as often as it takes: a forge may begin to check anew after it said that it can be merged.
func (p *place) merge(f Forge, number int) {
	p.Helper()
	var err error
	p.await(func() bool {
		err = f.Merge(p.Context(), number, p.settled(f, number, forge.MergeClean).Head.Commit)
		return !forge.RefusedAs(err, forge.RefusedUnsettled)
	})
	p.must(err)
}

func pushes(p *place) {
	f := p.as(Ada, "")
	dir := filepath.Join(p.TempDir(), "quarantine.git")
	base := p.git("rev-parse", "main")
	first := p.commit("topic", "first", map[string]string{"a.txt": "a\n"})
	second := p.commit("topic", "second", map[string]string{"a.txt": "b\n"})
	p.atMain()
	other := p.commit("aside", "other", map[string]string{"b.txt": "b\n"})
	p.git("clone", "-q", "--mirror", p.work, dir)
	// A hook that must not run, in the repository that is pushed from.
	hook := filepath.Join(dir, "hooks", "pre-push")
	p.must(os.MkdirAll(filepath.Dir(hook), 0o755))
	p.must(os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+filepath.Join(dir, "ran")+"\n"),
		0o755)) // a hook must be executable

	push := func(commit, lease string) error {
		return f.Push(p.Context(), forge.Push{Dir: dir, Branch: "topic", Commit: commit, Lease: lease})
	}
	p.must(push(first, ""))
	p.must(push(first, "")) // it is there: nothing to do
	err := push(second, "")
	if stale, ok := errors.AsType[*git.LeaseError](err); !ok || stale.Now != first {
		p.Errorf("a branch that exists unexpectedly gives %v", err)
	}
	err = push(second, base)
	if !is[*git.LeaseError](err) {
		p.Errorf("a stale lease gives %v", err)
	}
	p.must(push(second, first))
	err = push(other, second)
	if !is[*git.RewriteError](err) {
		p.Errorf("another history gives %v", err)
	}
	err = push(first, second)
	if !is[*git.RewriteError](err) {
		p.Errorf("going back gives %v", err)
	}
	if got := strings.Fields(p.git("ls-remote", p.address(Ada), "refs/heads/topic"))[0]; got != second {
		p.Errorf("the branch is at %s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		p.Error("a hook ran")
	}
	err = p.as(Eve, "").Push(p.Context(), forge.Push{Dir: dir, Branch: "eve", Commit: first})
	if err == nil {
		p.Error("a stranger pushed")
	}
	ctx, cancel := context.WithCancel(p.Context())
	cancel()
	if err := f.Push(ctx, forge.Push{Dir: dir, Branch: "late", Commit: first}); !errors.Is(err, context.Canceled) {
		p.Errorf("a push that was called off gives %v", err)
	}
}
