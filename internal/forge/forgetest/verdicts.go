package forgetest

import (
	"time"

	"github.com/cco-dev/cco/internal/forge"
)

// Guards against a collaborator who may only read, and whose approval was taken for one that counts.
func saysAccess(p *place) {
	p.server.Reader(p.T, p.remote, Eve)
	owner := p.as(Acme, "")
	for who, want := range map[string]forge.Access{Acme: forge.AccessWrite, Ada: forge.AccessWrite, Rob: forge.AccessWrite,
		Eve: forge.AccessRead, "nobody": forge.AccessRead} {
		if got, err := owner.Access(p.Context(), who); err != nil || got != want {
			p.Errorf("%s may %q, not %q: %v", who, got, want, err)
		}
	}
	ada := p.as(Ada, "")
	want := map[bool]forge.Access{true: forge.AccessWrite, false: forge.AccessUnknown}[p.server.SaysAccess]
	if got, err := ada.Access(p.Context(), Rob); err != nil || got != want {
		p.Errorf("to a token that is no administrator's, rob may %q, not %q: %v", got, want, err)
	}
	// A revoked right counts for at most a minute.
	p.server.Reader(p.T, p.remote, Rob)
	if got, err := owner.Access(p.Context(), Rob); err != nil || got != forge.AccessWrite {
		p.Errorf("it is asked again at once: %q %v", got, err)
	}
	if got, err := owner.Access(forge.Anew(p.Context()), Rob); err != nil || got != forge.AccessRead {
		p.Errorf("for a merge rob may still %q: %v", got, err)
	}
	p.must(p.clock.Sleep(p.Context(), 61*time.Second))
	if got, err := owner.Access(p.Context(), Rob); err != nil || got != forge.AccessRead {
		p.Errorf("after a minute rob may still %q: %v", got, err)
	}
	if r, err := ada.Repository(p.Context()); err != nil || r.Now.Before(time.Now().Add(-time.Hour)) ||
		r.Now.After(time.Now().Add(time.Hour)) {
		p.Errorf("the forge's time is %v: %v", r.Now, err)
	}
}

// stand gives the verdicts of others that stand, as words.
func (p *place) stand(f Forge, number int) []string {
	p.Helper()
	var all []string
	for _, c := range forge.Standing(p.said(f, number, "").Comments) {
		words := c.Author + " " + string(c.State)
		if !p.server.SaysAccess && c.Official {
			words += " official"
		}
		all = append(all, words)
	}
	return all
}

func (p *place) stands(f Forge, number int, when string, want ...string) {
	p.Helper()
	for i, w := range want {
		if !p.server.SaysAccess && w[:3] == Rob {
			want[i] = w + " official"
		}
	}
	got := p.stand(f, number)
	if len(got) != len(want) || len(got) > 0 && got[0] != want[0] || len(got) > 1 && got[1] != want[1] {
		p.Errorf("%s: %q stand, not %q", when, got, want)
	}
}

// Guards against a merge over somebody's request for changes.
func knowsVerdicts(p *place) {
	ada, rob, eve := p.as(Ada, ""), p.as(Rob, ""), p.as(Eve, "")
	pull := p.open(ada, "topic")
	review := func(f Forge, key string, v forge.Verdict, lines ...forge.LineComment) forge.Posted {
		p.Helper()
		posted, err := f.Review(p.Context(), pull.Number, forge.Review{Key: key, Verdict: v, Body: key, Lines: lines})
		p.must(err)
		return posted
	}
	review(rob, "first", forge.RequestChanges, forge.LineComment{Path: "code.txt", Line: 11, Body: "one"},
		forge.LineComment{Path: "code.txt", Line: 12, Body: "two"})
	p.stands(ada, pull.Number, "after a request for changes", "rob changes_requested")
	ids := map[string]string{}
	for _, c := range p.said(ada, pull.Number, "").Comments {
		ids[words(c)] = c.ID
	}
	p.must(p.resolve(ada, pull.Number, ids["one"]))
	p.must(p.resolve(rob, pull.Number, ids["two"]))
	p.stands(ada, pull.Number, "after one thread was resolved by another", "rob changes_requested")
	review(rob, "second", forge.Approve)
	p.stands(ada, pull.Number, "after an approval", "rob approved")
	third := review(rob, "third", forge.RequestChanges, forge.LineComment{Path: "code.txt", Line: 13, Body: "three"})
	if got := p.stand(ada, pull.Number); len(got) != 2 || got[1] != map[bool]string{true: "rob changes_requested",
		false: "rob changes_requested official"}[p.server.SaysAccess] {
		p.Errorf("after a new request for changes: %q", got)
	}
	for _, c := range p.said(ada, pull.Number, "").Comments {
		if words(c) == "three" {
			p.must(p.resolve(rob, pull.Number, c.ID))
		}
	}
	for _, c := range forge.Standing(p.said(ada, pull.Number, "").Comments) {
		if c.ID == third.ID {
			p.Error("a request stands whose author has resolved all its threads")
		}
	}
	fourth := review(rob, "fourth", forge.RequestChanges)
	p.server.Dismiss(p.T, p.remote, pull.Number, fourth.ID)
	for _, c := range forge.Standing(p.said(ada, pull.Number, "").Comments) {
		if c.State == forge.ReviewChanges {
			p.Errorf("after it was dismissed: %+v stands", c)
		}
	}
	p.server.Reader(p.T, p.remote, Eve)
	review(eve, "fifth", forge.Approve)
	for _, c := range forge.Standing(p.said(ada, pull.Number, "").Comments) {
		if c.Author == Eve && c.Official {
			p.Error("the approval of somebody who may only read is official")
		}
	}
}

// Guards against a request that goes into another branch than the one that was reviewed against.
func noticesBase(p *place) {
	ada := p.as(Ada, "")
	p.commit("next", "next", map[string]string{"other.txt": "two\n"})
	p.push("next")
	p.atMain()
	pull := p.open(ada, "topic")
	watched := []forge.Watched{{Number: pull.Number, Since: p.said(ada, pull.Number, "").Mark}}
	_, err := ada.Poll(p.Context(), watched)
	p.must(err)
	p.server.Retarget(p.T, p.remote, pull.Number, "next")
	news, err := ada.Poll(p.Context(), watched)
	p.must(err)
	if len(news) != 1 || news[0].Pull.Base.Name != "next" {
		p.Errorf("a poll says %+v", news)
	}
}

// Guards against an approval that slips onto a commit that came after the one that was reviewed.
func judgesCommit(p *place) {
	both := p.as(Ada, Rob)
	pull := p.open(both, "topic")
	old := pull.Head.Commit
	next := p.commit("topic", "more", map[string]string{"other.txt": "more\n"})
	if has, err := both.Contains(p.Context(), pull.Number, next); err != nil || has {
		p.Errorf("it has a commit that was not pushed: %v %v", has, err)
	}
	p.push("topic")
	p.settled(both, pull.Number, forge.MergeClean)
	for _, commit := range []string{old, next} {
		if has, err := both.Contains(p.Context(), pull.Number, commit); err != nil || !has {
			p.Errorf("it lacks %s: %v", commit, err)
		}
	}
	_, err := both.Review(p.Context(), pull.Number, forge.Review{Key: "v", Verdict: forge.Approve, Body: "good",
		Commit: old})
	p.must(err)
	for _, c := range p.said(both, pull.Number, "").Comments {
		if c.State == forge.ReviewApproved && c.Commit != old {
			p.Errorf("approved is %s, not %s", c.Commit, old)
		}
	}
}

// Guards against an answer to something that is gone, which failed in a way that nobody could tell from another.
func saysDeleted(p *place) {
	ada, rob := p.as(Ada, ""), p.as(Rob, "")
	pull := p.open(ada, "topic")
	p.review(rob, pull.Number, forge.Comments, "look", at(line, "here"), at(line+1, "there"))
	c := p.find(ada, pull.Number, "here")
	p.server.Change(p.T, p.remote, Rob, c.ID, "")
	_, err := p.reply(ada, pull.Number, c.ID, forge.Post{Key: "a", Body: "done"})
	if !is[*forge.NotFoundError](err) {
		p.Errorf("a reply to it: %v", err)
	}
	if err = p.resolve(ada, pull.Number, c.ID); !is[*forge.NotFoundError](err) {
		p.Errorf("resolving it: %v", err)
	}
}
