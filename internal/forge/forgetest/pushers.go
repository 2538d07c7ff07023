package forgetest

import (
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git"
)

// pushers asks until the forge knows: Gitea writes its timeline a moment after a push.
func (p *place) pushers(f Forge, number int, from, to string) (list []forge.Pusher) {
	p.Helper()
	p.await(func() bool {
		var err error
		list, err = f.Pushers(p.Context(), number, "topic", from, to)
		p.must(err)
		return len(list) > 0
	})
	return list
}

// saysWhoPushed: the account that pushed counts, and not what a commit says of its author, who is always Ada here.
func saysWhoPushed(p *place) {
	f := p.as(Ada, "")
	pull := p.open(f, "topic")
	first := pull.Head.Commit
	second := p.commit("topic", "more", map[string]string{"more.txt": "more\n"})
	p.pushAs(Rob, "topic")
	// Gitea never writes of a push that the next one overtakes.
	if got := p.pushers(f, pull.Number, first, second); len(got) != 1 || got[0].Name != Rob {
		p.Errorf("the first push: %+v", got)
	}
	third := p.commit("topic", "even more", map[string]string{"more.txt": "even more\n"})
	p.push("topic")
	if got := p.pushers(f, pull.Number, second, third); len(got) != 1 || got[0] != (forge.Pusher{Name: Ada}) {
		p.Errorf("the last push: %+v", got)
	}
	if got := p.pushers(f, pull.Number, first, third); len(got) != 2 || got[0].Name != Ada || got[1].Name != Rob {
		p.Errorf("both pushes: %+v", got)
	}
	p.git("reset", "-q", "--hard", first)
	forced := p.commit("topic", "another way", map[string]string{"more.txt": "another\n"})
	p.pushAs(Rob, "topic")
	if got := p.pushers(f, pull.Number, third, forced); len(got) != 1 || got[0].Name != Rob {
		p.Errorf("a forced push: %+v", got)
	}
	unknown, err := f.Pushers(p.Context(), pull.Number, "topic", first, "1111111111111111111111111111111111111111")
	if p.must(err); len(unknown) != 0 {
		p.Errorf("a commit that nobody pushed: %+v", unknown)
	}
}

// saysWhatMayBeAKeys: what is pushed with a deploy key is shown as an account's. So it is told which accounts that may
// be, to those who may list the keys, and to others as far as they can know.
func saysWhatMayBeAKeys(p *place) {
	f, owner := p.as(Ada, ""), p.as(Acme, "")
	keys := func(f Forge) forge.DeployKeys {
		p.Helper()
		k, err := f.DeployKeys(p.Context())
		p.must(err)
		return k
	}
	if k := keys(f); k.Known || !k.May(Acme) || k.May(Ada) || k.May(Rob) {
		p.Errorf("to somebody who is not told: %+v", k)
	}
	if k := keys(owner); !k.Known || k.May(Acme) {
		p.Errorf("without a key: %+v", k)
	}
	p.server.DeployKey(p.T, p.remote, true)
	if k := keys(owner); !k.Known || k.May(Acme) {
		p.Errorf("with a key that may not write: %+v", k)
	}
	push := p.server.DeployKey(p.T, p.remote, false)
	if k := keys(owner); !k.Known || !k.May(Acme) || k.May(Ada) {
		p.Errorf("with a key that may write: %+v", k)
	}
	pull := p.open(f, "topic")
	pushed := p.commit("topic", "by a key", map[string]string{"more.txt": "more\n"})
	p.git(append(push, "topic")...)
	got := p.pushers(f, pull.Number, pull.Head.Commit, pushed)
	if len(got) != 1 || !keys(f).May(got[0].Name) || !keys(owner).May(got[0].Name) {
		p.Errorf("a push with the key: %+v", got)
	}
}

// marksReady ends a request's time as a draft, once, and leaves its title.
func marksReady(p *place) {
	f := p.as(Ada, "")
	p.commit("topic", "change", map[string]string{"code.txt": "changed\n"})
	p.push("topic")
	pull, _, err := f.Open(p.Context(), forge.NewPull{Head: "topic", Base: "main", Title: "A change", Draft: true})
	if p.must(err); !pull.Draft {
		p.Fatalf("not a draft: %+v", pull)
	}
	for range 2 {
		p.must(f.Ready(p.Context(), pull.Number))
		if pull, err = f.Pull(p.Context(), pull.Number); err != nil || pull.Draft || pull.Title != "A change" {
			p.Errorf("%+v %v", pull, err)
		}
	}
}

// fetches brings what others pushed, with nothing of the user's own settings, and says when there is no such branch.
func fetches(p *place) {
	f := p.as(Ada, "")
	want := p.open(f, "topic").Head.Commit
	dir := filepath.Join(p.TempDir(), "bare")
	p.must(git.WriteBare(dir, "sha1", nil))
	for range 2 {
		if got, err := f.Fetch(p.Context(), dir, "topic"); err != nil || got != want {
			p.Errorf("fetched %s, want %s: %v", got, want, err)
		}
	}
	if _, err := f.Fetch(p.Context(), dir, "nosuch"); err == nil {
		p.Error("a branch that isn't there was fetched")
	}
}

// saysWhyItCanNotMerge: a conflict is said soon, so that others need not wait; and so is a base that must be taken in.
func saysWhyItCanNotMerge(p *place) {
	f := p.as(Ada, "")
	pull := p.open(f, "topic")
	onMain := func(message string, files map[string]string) {
		p.atMain()
		p.commit("main", message, files)
		p.push("main")
	}
	onMain("in the way", map[string]string{"code.txt": lines(1, 10) + "other\n" + lines(11, 30)})
	before := p.clock.slept() // how long a server takes for its answers is not ours to say
	if err := f.Merge(p.Context(), pull.Number, pull.Head.Commit); err == nil {
		p.Error("a conflict was merged")
	}
	if waited := p.clock.slept() - before; waited > time.Minute {
		p.Errorf("it waited for %v", waited)
	}

	p.server.Strict(p.T, p.remote, "main")
	p.git("checkout", "-q", "-f", "-B", "beside", "main")
	p.commit("beside", "beside", map[string]string{"beside.txt": "beside\n"})
	p.push("beside")
	onMain("more", map[string]string{"other.txt": "more\n"})
	beside, _, err := f.Open(p.Context(), forge.NewPull{Head: "beside", Base: "main", Title: "Beside"})
	p.must(err)
	got, err := f.Pull(p.Context(), beside.Number)
	p.must(err)
	if err := f.Merge(p.Context(), beside.Number, beside.Head.Commit); err == nil || !got.Behind {
		p.Errorf("behind: %+v, %v", got, err)
	}
}
