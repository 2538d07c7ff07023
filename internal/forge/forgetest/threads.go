package forgetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/forge"
)

// reply answers in a thread.
func (p *place) reply(f Forge, number int, to string, post forge.Post) (forge.Posted, error) {
	t, err := f.Threads(p.Context(), number)
	if err != nil {
		return forge.Posted{}, err
	}
	return t.Reply(p.Context(), to, post)
}

// resolve resolves a thread.
func (p *place) resolve(f Forge, number int, comment string) error {
	t, err := f.Threads(p.Context(), number)
	if err != nil {
		return err
	}
	return t.Resolve(p.Context(), comment)
}

func replies(p *place) {
	ada, rob := p.as(Ada, ""), p.as(Rob, "")
	pull := p.open(ada, "topic")
	p.review(rob, pull.Number, forge.Comments, "look", at(line, "here"), at(line+1, "there"))
	ids := map[string]string{}
	for _, c := range p.said(ada, pull.Number, "").Comments {
		ids[c.Body] = c.ID
	}
	_, err := p.reply(ada, pull.Number, ids["here"], forge.Post{Key: "a", Body: "done"})
	p.must(err)
	for range 2 {
		p.must(p.resolve(ada, pull.Number, ids["here"]))
	}
	for _, c := range p.said(ada, pull.Number, "").Comments {
		want := map[string]forge.CommentState{"here": forge.ThreadResolved, "done": forge.ThreadResolved,
			"there": forge.ThreadOpen, "look": forge.ReviewCommented}[c.Body]
		if c.State != want {
			p.Errorf("%q is %q, not %q", c.Body, c.State, want)
		}
		if c.Body == "done" && (c.Thread != ids["here"] || !c.Own) {
			p.Errorf("the reply: %+v", c)
		}
	}
	if _, err := p.reply(ada, pull.Number, "nonsense", forge.Post{Key: "n", Body: "x"}); err == nil {
		p.Error("replied to nonsense")
	}
}

// answersMany guards against answers that read everything again for each of them.
func answersMany(p *place) {
	const many = 12
	ada, rob := p.as(Ada, ""), p.as(Rob, "")
	pull := p.open(ada, "topic")
	var on []forge.LineComment
	for n := range many {
		on = append(on, at(8+n%9, fmt.Sprint("w", n)))
	}
	p.review(rob, pull.Number, forge.Comments, "look", on...)
	said := p.said(ada, pull.Number, "").Comments
	before := len(p.proxy.Requests())
	t, err := ada.Threads(p.Context(), pull.Number)
	p.must(err)
	reading := len(p.proxy.Requests()) - before
	answered := 0
	for _, c := range said {
		if c.Kind != forge.OnLine {
			continue
		}
		answered++
		_, err := t.Reply(p.Context(), c.ID, forge.Post{Key: "to " + c.ID, Body: "done " + c.Body})
		p.must(err)
		p.must(t.Resolve(p.Context(), c.ID))
	}
	// A write for each answer and each thread, and what a forge is asked once.
	if writes := len(p.proxy.Requests()) - before - reading; reading > 10 || writes > 2*many+5 || answered != many {
		p.Errorf("%d answers cost %d requests to read and %d to write", answered, reading, writes)
	}
	own, open := 0, 0
	for _, c := range p.said(ada, pull.Number, "").Comments {
		if strings.HasPrefix(c.Body, "done w") && c.Own {
			own++
		}
		if c.Kind == forge.OnLine && c.State != forge.ThreadResolved {
			open++
		}
	}
	if own != many || open != 0 {
		p.Errorf("%d answers are there, and %d lines are not resolved", own, open)
	}
}

// answersMoved guards against an answer that stands at another line than what it answers.
func answersMoved(p *place) {
	ada, rob := p.as(Ada, ""), p.as(Rob, "")
	pull := p.open(ada, "topic")
	p.review(rob, pull.Number, forge.Comments, "look", at(12, "here"))
	p.commit("topic", "more above", map[string]string{"code.txt": lines(1, 9) + "one\ntwo\nthree\n" + lines(10, 10) +
		"new a\nnew b\nnew c\n" + lines(11, 30)})
	p.push("topic")
	p.settled(ada, pull.Number, forge.MergeClean)
	to := p.find(ada, pull.Number, "here").ID
	posted, err := p.reply(ada, pull.Number, to, forge.Post{Key: "a", Body: "done"})
	if p.must(err); strings.Contains(posted.Fallback, "below") {
		p.Errorf("it was %s", posted.Fallback)
	}
	// In the thread itself, or at the line where that is now.
	if c := p.find(ada, pull.Number, "done"); c.Kind != forge.OnLine || c.Thread == c.ID && c.Line != 15 {
		p.Errorf("the answer: %+v", c)
	}
}

func outdates(p *place) {
	ada, rob := p.as(Ada, ""), p.as(Rob, "")
	pull := p.open(ada, "topic")
	p.review(rob, pull.Number, forge.Comments, "look", at(11, "stays"), at(13, "goes"))
	before := p.said(ada, pull.Number, "")
	// Another history under the review: line 11 is as it was, line 13 is not.
	p.atMain()
	p.git("branch", "-qD", "topic")
	p.commit("topic", "rewritten", map[string]string{"code.txt": lines(1, 10) + "new a\nother b\n" + lines(11, 30)})
	p.push("topic")
	p.settled(ada, pull.Number, forge.MergeClean)
	var after forge.Stream
	p.await(func() bool { // a forge may take a moment to look at what was pushed
		after = p.said(ada, pull.Number, "")
		return !slices.ContainsFunc(after.Comments,
			func(c forge.Comment) bool { return c.Body == "goes" && c.Line != 0 })
	})
	for _, c := range after.Comments {
		if c.Body == "stays" && (c.Line != 11 || c.State != forge.ThreadOpen) || c.Body == "goes" &&
			(c.Line != 0 || c.State != forge.ThreadOutdated) {
			p.Errorf("after the push: %+v", c)
		}
	}
	if again := p.said(ada, pull.Number, before.Mark); len(again.Comments)+len(again.Gone) != 0 {
		p.Errorf("a push says nothing, and yet %+v", again)
	}
	for _, c := range after.Comments {
		if c.Kind == forge.OnLine {
			_, err := p.reply(ada, pull.Number, c.ID, forge.Post{Key: "re " + c.Body, Body: "re " + c.Body})
			p.must(err)
		}
	}
	found := 0
	for _, c := range p.said(ada, pull.Number, before.Mark).Comments {
		if strings.Contains(c.Body, "re goes") || strings.Contains(c.Body, "re stays") {
			found++
		}
	}
	if found != 2 {
		p.Errorf("%d of 2 replies are there", found)
	}
}
