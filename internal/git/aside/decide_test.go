package aside

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git"
)

// world is a state before, now and inside, for a case to change. Commits are letters; the branch main is checked out.
type world struct {
	b    began
	now  state
	said said
	f    facts
}

func newWorld() *world {
	refs := func() map[string]git.Ref {
		return map[string]git.Ref{"refs/heads/main": {OID: "a"}, "refs/heads/other": {OID: "a"}}
	}
	main := git.Ref{Symref: "refs/heads/main", OID: "a"}
	return &world{
		b:    began{Refs: refs(), Head: main, Own: map[string]bool{"main": true}},
		now:  state{refs: refs(), head: main},
		said: said{heads: map[string]string{"main": "a", "other": "a"}, head: main, index: "i"},
	}
}

// commit is the agent's, on main.
func (w *world) commit() {
	w.said.heads["main"], w.said.head.OID = "b", "b"
	w.f.fresh = map[string]bool{"b": true}
}

// topic is a new branch with a commit, that the agent has checked out.
func (w *world) topic() {
	w.said.heads["topic"], w.said.head = "b", git.Ref{Symref: "refs/heads/topic", OID: "b"}
	w.f.fresh = map[string]bool{"b": true}
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		want   string
	}{
		"nothing":  {func(*world) {}, "index"},
		"a commit": {func(w *world) { w.commit() }, "index move:main"},
		"a commit came": {func(w *world) { w.commit(); w.now.refs["refs/heads/main"] = git.Ref{OID: "b"} },
			"index have:main"},
		"the user moved":    {func(w *world) { w.commit(); w.now.refs["refs/heads/main"] = git.Ref{OID: "c"} }, "keep:main"},
		"the user moved it": {func(w *world) { w.now.refs["refs/heads/main"] = git.Ref{OID: "c"} }, ""},
		"it was deleted":    {func(w *world) { w.commit(); delete(w.now.refs, "refs/heads/main") }, "keep:main"},
		"not checked out":   {func(w *world) { w.said.heads["other"] = "b" }, "index keep:other"},
		"deleted inside":    {func(w *world) { delete(w.said.heads, "other") }, "index deleted:other"},
		"deleted by both": {func(w *world) {
			delete(w.said.heads, "other")
			delete(w.now.refs, "refs/heads/other")
		}, "index"},
		"a new branch": {func(w *world) { w.topic() }, "index move:topic head:topic"},
		"made by both": {func(w *world) { w.topic(); w.now.refs["refs/heads/topic"] = git.Ref{OID: "c"} },
			"keep:topic left"},
		"elsewhere": {func(w *world) { w.topic(); w.f.elsewhere = map[string]string{"topic": "x"} }, "keep:topic left"},
		"a switch":  {func(w *world) { w.said.head.Symref = "refs/heads/other" }, "index head:other"},
		"a switch to a branch elsewhere": {func(w *world) {
			w.said.head.Symref, w.f.elsewhere = "refs/heads/other", map[string]string{"other": "x"}
		}, "left"},
		"two switches": {func(w *world) { w.topic(); w.now.head.Symref = "refs/heads/other" }, "move:topic left"},
		"an orphan":    {func(w *world) { w.said.head = git.Ref{Symref: "refs/heads/orphan"} }, "left"},
		"no branch":    {func(w *world) { w.said.head.Symref = "refs/tags/x" }, "left"},
		"detached":     {func(w *world) { w.said.head = git.Ref{OID: "a"} }, "left"},
		"detached with a commit": {func(w *world) {
			w.said.head, w.f.fresh = git.Ref{OID: "b"}, map[string]bool{"b": true}
		}, "keep:HEAD left"},
		"always detached": {func(w *world) {
			w.b.Head, w.now.head, w.said.head = git.Ref{OID: "a"}, git.Ref{OID: "a"}, git.Ref{OID: "a"}
		}, "index"},
		"a nested repository": {func(w *world) { w.commit(); w.f.gitlinks = map[string]string{"b": "x"} }, "keep:main"},
		"refused":             {func(w *world) { w.commit(); w.f.refused = map[string]string{"b": "x"} }, "refused:main"},
		"an odd name":         {func(w *world) { w.said.heads["a\u202eb"] = "b" }, "index keep:a\u202eb"},
		"a commit, and another branch": {func(w *world) {
			w.commit()
			w.said.heads["other"], w.said.head = "c", git.Ref{Symref: "refs/heads/other", OID: "c"}
		}, "index:b move:main keep:other left"},
		"an index that is refused": {func(w *world) { w.commit(); w.f.refused = map[string]string{"i": "x"} },
			"index:b move:main"},
		"no index":                  {func(w *world) { w.commit(); w.said.index = "" }, "index:b move:main"},
		"an option as a name":       {func(w *world) { w.said.heads["-x"] = "b" }, "index keep:-x"},
		"a file of git's as a name": {func(w *world) { w.said.heads["ORIG_HEAD"] = "b" }, "index keep:ORIG_HEAD"},
		"what the user's remote has": {func(w *world) {
			w.said.heads["origin/main"] = "b"
			w.now.refs["refs/remotes/origin/main"] = git.Ref{OID: "a"}
		}, "index keep:origin/main"},
		"a remote's name": {func(w *world) {
			w.said.heads["origin"], w.said.heads["main2"] = "b", "b"
			w.now.refs["refs/remotes/origin/HEAD"] = git.Ref{OID: "a"}
			w.now.refs["refs/remotes/origin/main2"] = git.Ref{OID: "a"}
		}, "index move:main2 keep:origin"},
		"HEAD as a name": {func(w *world) { w.said.heads["HEAD"] = "b" }, "index keep:HEAD"},
		"a long name": {func(w *world) { w.said.heads[strings.Repeat("x", 1001)] = "b" },
			"index keep:" + strings.Repeat("x", 1001)},
		"a merge of the user's": {func(w *world) { w.commit(); w.f.busy = "a merge" },
			"keep:main"},
		"a symbolic branch": {func(w *world) { w.commit(); w.now.refs["refs/heads/main"] = git.Ref{OID: "a", Symref: "x"} },
			"keep:main"},
		"a submodule's": {func(w *world) { w.topic(); w.f.sub = true }, "keep:topic"},
	} {
		w := newWorld()
		c.change(w)
		if got := sumUp(decide(&w.b, w.now, w.said, w.f)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func sumUp(p plan) string {
	var words []string
	switch p.index {
	case "":
	case "i":
		words = append(words, "index")
	default:
		words = append(words, "index:"+p.index)
	}
	for _, m := range p.move {
		words = append(words, "move:"+m.Branch)
	}
	for _, m := range p.have {
		words = append(words, "have:"+m.Branch)
	}
	for _, k := range p.keep {
		words = append(words, "keep:"+k.Branch)
	}
	for _, b := range p.report.Deleted {
		words = append(words, "deleted:"+b)
	}
	for _, k := range p.report.Refused {
		words = append(words, "refused:"+k.Branch)
	}
	if p.head != "" {
		words = append(words, "head:"+p.head)
	}
	if p.report.HeadLeft != "" {
		words = append(words, "left")
	}
	return strings.Join(words, " ")
}
