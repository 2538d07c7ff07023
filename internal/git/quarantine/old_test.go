package quarantine_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/must"
)

// oldOddities is a repository that has everything that an agent may not bring.
func oldOddities(t *testing.T) *handOff {
	t.Helper()
	user := gittest.New(t)
	user.Commit("first", "README", "hello\n")
	blob := user.Object("blob", "x\n")
	modules := user.Object("blob", "[submodule \"a\"]\n\tpath = a\n\turl = --upload-pack=x\n[submodule \"old\"]\n\tpath "+
		"= ../old\n\turl = file:///old\n\tupdate = !old\n")
	dir := user.Tree(gittest.Entry{Mode: "100644", Name: "f", OID: blob},
		gittest.Entry{Mode: "100644", Name: "g", OID: blob})
	tree := user.Tree(
		gittest.Entry{Mode: "120000", Name: ".gitattributes", OID: user.Object("blob", "README")},
		gittest.Entry{Mode: "100644", Name: ".gitmodules", OID: modules},
		gittest.Entry{Mode: "100644", Name: "GIT~1", OID: blob},
		gittest.Entry{Mode: "100644", Name: "README", OID: blob},
		gittest.Entry{Mode: "120000", Name: "abs", OID: user.Object("blob", "/etc/passwd")},
		gittest.Entry{Mode: "100644", Name: "con\x01trol", OID: blob},
		gittest.Entry{Mode: "040000", Name: "padded", OID: dir},
		gittest.Entry{Mode: "100664", Name: "group", OID: blob},
		gittest.Entry{Mode: "120000", Name: "up", OID: user.Object("blob", "../x")},
	)
	// The names above are sorted as they must be, except for this swap, so that the list reads well.
	tree = sortTree(user, tree)
	user.Git("update-ref", "refs/heads/main", user.CommitTree(tree, user.Git("rev-parse", "HEAD")))
	return send(t, user)
}

// sortTree writes a tree again with its entries in git's order.
func sortTree(r *gittest.Repo, tree string) string {
	raw, err := r.Try("", "cat-file", "tree", tree)
	if err != nil {
		panic(err)
	}
	var es []string
	for len(raw) > 0 {
		nul := strings.IndexByte(raw, 0)
		es, raw = append(es, raw[:nul+21]), raw[nul+21:]
	}
	key := func(e string) string {
		mode, rest, _ := strings.Cut(e, " ")
		name, _, _ := strings.Cut(rest, "\x00")
		if strings.HasSuffix(mode, "40000") {
			name += "/"
		}
		return name
	}
	slices.SortFunc(es, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	return r.Object("tree", strings.Join(es, ""))
}

// Guards against locking users out of repositories that were odd before: only what is new counts.
func TestWhatWasThereBeforeStaysAllowed(t *testing.T) {
	h := oldOddities(t)
	for name, change := range map[string]func(*handOff) string{
		"another file": func(h *handOff) string {
			return h.evil(gittest.Entry{Mode: "100644", Name: "zzz", OID: h.box.Object("blob", "new\n")})
		},
		"a harmless link": func(h *handOff) string {
			return h.evil(gittest.Entry{Mode: "120000", Name: "zzz", OID: h.box.Object("blob", "README")})
		},
		"a file in an old directory": func(h *handOff) string {
			f := h.box.Object("blob", "new\n")
			return h.evil(gittest.Entry{Mode: "40000", Name: "padded",
				OID: h.box.Tree(gittest.Entry{Mode: "100644", Name: "f", OID: f})})
		},
		"content of an odd name": func(h *handOff) string {
			return h.evil(gittest.Entry{Mode: "100644", Name: "con\x01trol", OID: h.box.Object("blob", "new\n")})
		},
		"a good submodule": func(h *handOff) string {
			text := h.box.Git("show", "HEAD:.gitmodules") + "\n[submodule \"b\"]\n\tpath = b\n\turl = https://example.org/b\n"
			return h.evil(gittest.Entry{Mode: "100644", Name: ".gitmodules", OID: h.box.Object("blob", text)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			tip := h.box.CommitTree(change(h), h.base)
			h.taken(h.publish(tip))
		})
	}
	t.Run("removed and put back", func(t *testing.T) {
		h := h.in(t)
		empty := h.box.CommitTree(h.box.Tree(), h.base)
		tip := h.box.CommitTree(h.box.Git("rev-parse", h.base+"^{tree}"), empty)
		h.taken(h.publish(tip))
	})
}

// Guards against the opposite: an old oddity must not be a licence for a new one.
func TestOldOddityIsNoLicence(t *testing.T) {
	h := oldOddities(t)
	blob := h.box.Object("blob", "evil\n")
	for name, c := range map[string]struct {
		entry gittest.Entry
		rule  quarantine.Rule
	}{
		"new content in a .git": {gittest.Entry{Mode: "100644", Name: "GIT~1", OID: blob}, quarantine.RuleDotGit},
		"another .git":          {gittest.Entry{Mode: "100644", Name: "GIT~2", OID: blob}, quarantine.RuleDotGit},
		"link changed": {gittest.Entry{Mode: "120000", Name: "abs", OID: h.box.Object("blob", "/etc/shadow")},
			quarantine.RuleSymlink},
		"link moved": {gittest.Entry{Mode: "120000", Name: "abs2", OID: h.box.Object("blob", "/etc/passwd")},
			quarantine.RuleSymlink},
		"link through old link": {gittest.Entry{Mode: "120000", Name: "new", OID: h.box.Object("blob", "up/y")},
			quarantine.RuleSymlink},
		"another mode": {gittest.Entry{Mode: "100666", Name: "group", OID: blob}, quarantine.RuleMode},
		"steering link": {gittest.Entry{Mode: "120000", Name: ".gitattributes", OID: h.box.Object("blob", "padded/f")},
			quarantine.RuleSymlink},
		"old submodule changed": {gittest.Entry{Mode: "100644", Name: ".gitmodules",
			OID: h.box.Object("blob", "[submodule \"a\"]\n\tpath = a\n\turl = --upload-pack=evil\n")}, quarantine.RuleSubmodule},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			h.refused(h.commitWith(c.entry), c.rule)
		})
	}
}

func TestLeftoversComeAsTheirOwnRef(t *testing.T) {
	h := newHandOff(t)
	tip := h.box.Commit("work", "x", "x\n")
	wip := h.box.Commit("leftovers", "y", "y\n")
	h.box.Git("update-ref", quarantine.WipRef, wip)
	q, _ := h.taken(h.publish(tip, quarantine.WipRef))
	imp := must.Get(q.Import(t.Context(), "0123abcd"))(t)
	if got := h.user.Git("rev-parse", imp.Ref, imp.WipRef); got != tip+"\n"+wip {
		t.Errorf("refs are at %s", got)
	}
	if h.user.Git("rev-parse", "main") != h.base {
		t.Error("import moved the branch")
	}
}

func TestOnlyLeftovers(t *testing.T) {
	h := newHandOff(t)
	wip := h.box.Commit("leftovers", "y", "y\n")
	h.box.Git("update-ref", quarantine.WipRef, wip)
	path := filepath.Join(t.TempDir(), "output.bundle")
	h.box.Git("bundle", "create", "-q", path, quarantine.WipRef, "^"+h.base)
	q := must.Get(quarantine.New(t.Context(), h.repo, filepath.Join(t.TempDir(), "q"), quarantine.Options{}))(t)
	found, err := q.Unpack(t.Context(), path, h.base)
	if d := cmp.Diff(quarantine.Found{Base: h.base, Tip: h.base, Wip: wip}, found); d != "" || err != nil {
		t.Fatal(d, err)
	}
	must.Get(q.Examine(t.Context()))(t)
}

// An agent's second try that doesn't contain its first must not make the first unreachable.
func TestImportAgainLosesNothing(t *testing.T) {
	h := newHandOff(t)
	first := h.box.Commit("first try", "x", "x\n")
	h.box.Git("reset", "-q", "--hard", h.base)
	second := h.box.Commit("second try", "y", "y\n")
	third := h.box.Commit("third", "z", "z\n")
	var imp quarantine.Imported
	for _, tip := range []string{first, first, second, third} {
		q, _ := h.taken(h.publish(tip))
		imp = must.Get(q.Import(t.Context(), "0123abcd"))(t)
		if tip == second && len(imp.Kept) != 1 {
			t.Errorf("kept %q", imp.Kept)
		}
	}
	if got := h.user.Git("rev-parse", "refs/cco/0123abcd"); got != third {
		t.Errorf("the ref is at %s", got)
	}
	h.user.Git("gc", "-q", "--prune=now")
	for _, c := range []string{first, second, third} {
		h.user.Git("cat-file", "-e", c)
	}
	if left, _ := filepath.Glob(h.user.Path(".git/objects/pack/*.keep")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestImportRefusesOddIDs(t *testing.T) {
	h := newHandOff(t)
	q, _ := h.taken(h.publish(h.box.Commit("work", "x", "x\n")))
	before := gittest.Fingerprint(t, h.user.Dir)
	for _, id := range []string{"", "..", "a/b", "0123ABCD", "a b", "-x", "x-wip", "x.lock", strings.Repeat("a", 65)} {
		if _, err := q.Import(t.Context(), id); err == nil {
			t.Errorf("took the id %q", id)
		}
	}
	if d := cmp.Diff(before, gittest.Fingerprint(t, h.user.Dir)); d != "" {
		t.Error(d)
	}
}
