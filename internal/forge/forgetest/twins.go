package forgetest

import (
	"context"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/forge"
)

// crossing is the journal of a machine that looked before another's post was there: its own post is a second one.
type crossing struct {
	forge.Journal
	key string // of the record that it takes for a new one
}

func (c crossing) Begin(ctx context.Context, r forge.Record) (forge.Record, bool, error) {
	kept, fresh, err := c.Journal.Begin(ctx, r)
	if r.Key == c.key {
		kept.ID, kept.URL, fresh = "", "", true
	}
	return kept, fresh, err
}

// withdrawsTwins guards against words that stand twice because two machines spoke at once, and against quotations of
// people's that are taken for such.
func withdrawsTwins(p *place) {
	ada := p.as(Ada, Rob)
	pull := p.open(ada, "topic")
	say := func(f Forge) (ids []string) {
		c, err := f.Comment(p.Context(), pull.Number, forge.Post{Key: "comment", Body: "words"})
		p.must(err)
		return []string{c.ID, p.review(f, pull.Number, forge.Comments, "a review", at(line, "a line")).ID}
	}
	first := say(ada)
	on := p.lineOf(ada, pull.Number, first[1])
	reply := func(f Forge) {
		_, err := p.reply(f, pull.Number, on, forge.Post{Key: "reply", Body: "an answer"})
		p.must(err)
	}
	reply(ada)
	before := p.said(ada, pull.Number, "")
	cross := func(key string) Forge {
		return p.connect(As{Who: Ada, Reviewer: Rob, Journal: crossing{p.journal, key}})
	}
	_, err := cross("comment").Comment(p.Context(), pull.Number, forge.Post{Key: "comment", Body: "words"})
	p.must(err)
	p.review(cross(string(forge.Comments)+"a review"), pull.Number, forge.Comments, "a review", at(line, "a line"))
	reply(cross("reply"))
	rec, _, err := p.journal.ByID(p.Context(), p.remote.String(), first[0])
	p.must(err)
	p.raw(Ada, pull.Number, "> words\n> "+rec.Mark("")+"\n\nthat is wrong")

	twins, removed := 0, 0
	for _, c := range p.said(ada, pull.Number, before.Mark).Comments {
		if c.Twin == "" {
			continue
		}
		if twins++; c.Own {
			p.Errorf("the second of two is ours: %+v", c)
		}
		gone, err := ada.Withdraw(p.Context(), c)
		p.must(err)
		if gone {
			removed++
		}
		if quote := strings.Contains(c.Body, "that is wrong"); gone == quote {
			p.Errorf("removed %v: %q", gone, c.Body)
		}
	}
	if twins != 5 || removed != 4 { // a comment, a review, its line, a reply; and the quotation
		p.Errorf("%d of %d were removed", removed, twins)
	}
	after := p.said(ada, pull.Number, "")
	var own, others []string
	for _, c := range after.Comments {
		switch {
		case c.Own && !strings.Contains(c.Body, "posted twice") && c.Body != "":
			own = append(own, c.Body)
		case !c.Own:
			others = append(others, c.Body)
		}
	}
	slices.Sort(own)
	if diff := cmp.Diff([]string{"a line", "a review", "an answer", "words"}, own); diff != "" {
		p.Errorf("what stands (-want +got):\n%s", diff)
	}
	if len(others) != 1 || !strings.Contains(others[0], "that is wrong") {
		p.Errorf("others said %q", others)
	}
}

// lineOf is the line comment of a review.
func (p *place) lineOf(f Forge, number int, review string) string {
	p.Helper()
	for _, c := range p.said(f, number, "").Comments {
		if c.Kind == forge.OnLine && c.Review == review {
			return c.ID
		}
	}
	p.Fatalf("review %s has no line", review)
	return ""
}
