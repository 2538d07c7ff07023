package steps

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/safetext"
)

// PostReview posts a review once, with its findings on their lines, and says where each stands. A verdict is of the
// reviewer's own account: without one there are only the domains' comments.
func (d *Doer) PostReview(ctx context.Context, in cruise.PostReviewIn) ([]cruise.Finding, error) {
	r := forge.Review{Key: in.Phase + "-" + in.Key, Verdict: in.As, Body: in.Body, Commit: in.Head}
	for _, v := range in.Findings {
		if v.Path == "" || v.Line == 0 {
			r.Body += "\n\n" + findingText(v)
			continue
		}
		r.Lines = append(r.Lines, forge.LineComment{Path: v.Path, Line: v.Line, Body: unaddressed(findingText(v))})
	}
	r.Body = unaddressed(r.Body)
	return ask(ctx, d, in.Where, func(f Forge) ([]cruise.Finding, error) {
		if in.As != forge.Comments {
			us, err := f.Us(ctx)
			if err != nil || len(us) < 2 || strings.EqualFold(us[0], us[1]) {
				return nil, err
			}
		}
		p, err := f.Review(ctx, in.PR, r)
		if err != nil || len(in.Findings) == 0 {
			return nil, err
		}
		said, err := f.Said(ctx, in.PR, "")
		return places(in.Findings, p, said.Comments), err
	})
}

var (
	mention = regexp.MustCompile(`(^|\W)@([A-Za-z0-9])`)
	command = regexp.MustCompile(`(?m)^([ \t]*)/([A-Za-z])`)
)

// unaddressed keeps an agent's words from calling people, teams or bots in the user's name: a bot that takes "/approve"
// or "@bot merge" from the user would take it from cco too. It inserts a zero-width mark; the text looks the same.
func unaddressed(text string) string {
	text = mention.ReplaceAllString(text, "$1@\u200b$2")
	return command.ReplaceAllString(text, "$1\u200b/$2")
}

// findingText is a finding as people read it. Its id is how a fixer, and a person, refers to it.
func findingText(v cruise.Finding) string {
	where := ""
	if v.Path != "" && v.Line == 0 {
		where = " " + cruise.Code(v.Path)
	}
	return fmt.Sprintf("**%s**%s (%s)\n\n%s", v.ID, where, v.Severity, v.Text)
}

// places finds each finding of a review on the forge. A finding without a comment of its own is in the review's text.
func places(findings []cruise.Finding, p forge.Posted, said []forge.Comment) (list []cruise.Finding) {
	for _, v := range findings {
		v.Comment, v.URL = p.ID, p.URL
		for _, c := range said {
			if c.Own && c.Kind == forge.OnLine && strings.Contains(c.Body, "**"+v.ID+"**") {
				v.Comment, v.URL = c.ID, c.URL
			}
		}
		list = append(list, v)
	}
	return list
}

// Answer answers each thread once, and resolves those that a commit really answers.
func (d *Doer) Answer(ctx context.Context, in cruise.AnswerIn) error {
	return d.on(ctx, in.Where, func(f Forge) error {
		if in.Head != "" {
			has, err := f.Contains(ctx, in.PR, in.Head)
			if err == nil && !has {
				err = &forge.NotFoundError{What: fmt.Sprintf("commit %.10s on pull request %d", in.Head, in.PR)}
			}
			if err != nil {
				return err
			}
		}
		t, err := f.Threads(ctx, in.PR) // one reading for all of them
		if err != nil {
			return err
		}
		for _, a := range in.Answers {
			if err := d.answer(ctx, f, t, in, a); err != nil {
				return err
			}
		}
		return nil
	})
}

// answer answers in the thread of a comment on a line, and else on the request itself. So is a commit for a comment
// that was deleted, and people see what it was for.
func (d *Doer) answer(ctx context.Context, f Forge, t forge.Threads, in cruise.AnswerIn, a cruise.Reply) error {
	post := forge.Post{Key: fmt.Sprintf("%s-answer-%s-%d-%s", in.Phase, in.Kind, in.Round, a.Finding),
		Body: unaddressed(a.Text)}
	id, deleted := cruise.Unedited(a.Comment), ""
	if kind, _, err := forge.ParseID(id); err == nil && kind == forge.OnLine {
		_, err := t.Reply(ctx, id, post)
		if err == nil && a.Resolve {
			err = t.Resolve(ctx, id)
			if isGone(err) {
				return nil // it was deleted after it was answered
			}
		}
		if !isGone(err) {
			return err
		}
		if !a.Commit {
			d.log(ctx, in.Phase, a.Finding+" was deleted on the forge, and is answered no more")
			return nil
		}
		post.Key, deleted = post.Key+"-below", " (deleted)"
	}
	post.Body = "**" + a.Finding + "**" + deleted + ": " + post.Body
	_, err := f.Comment(ctx, in.PR, post)
	return err
}

// isGone says that what an error is about is not on the forge.
func isGone(err error) bool {
	_, gone := errors.AsType[*forge.NotFoundError](err)
	return gone
}

// takenBack reads everything on a request, and says which comments people took back.
func takenBack(ctx context.Context, f Forge, in cruise.LookIn) (list []string, err error) {
	if len(in.Check) == 0 {
		return nil, nil
	}
	said, err := f.Said(ctx, in.PR, "")
	if err != nil {
		return nil, err
	}
	us, err := f.Us(ctx)
	for _, id := range in.Check {
		if c := commentNow(said.Comments, id); c == nil || resolver(*c, us) != "" {
			list = append(list, id)
		}
	}
	return list, err
}

// Say says something on the pull request, once.
func (d *Doer) Say(ctx context.Context, in cruise.SayIn) error {
	return d.on(ctx, in.Where, func(f Forge) error {
		post := f.Comment
		if in.Keep {
			post = f.Update
		}
		_, err := post(ctx, in.PR, forge.Post{Key: in.Phase + "-" + in.Key, Body: unaddressed(in.Text)})
		return err
	})
}

// maxStranger bounds a comment by somebody who may not write.
const maxStranger = 8 << 10

// Look asks the watcher.
func (d *Doer) Look(ctx context.Context, in cruise.LookIn) (cruise.News, error) {
	return ask(ctx, d, in.Where, func(f Forge) (cruise.News, error) { return d.look(ctx, f, in) })
}

func (d *Doer) look(ctx context.Context, f Forge, in cruise.LookIn) (cruise.News, error) {
	n, err := d.Watch.look(ctx, f, in)
	if err != nil {
		return cruise.News{}, err
	}
	news := cruise.News{Mark: string(n.Mark), State: n.Pull.State, Head: n.Pull.Head.Commit,
		Base: n.Pull.Base.Name, Branch: n.Pull.Head.Name, Updated: n.Pull.Updated}
	if news.Onto, err = d.Watch.tip(ctx, f, in.Repo, news.Base, in.Now); err != nil {
		return news, err
	}
	for _, c := range n.Comments {
		if c.Twin != "" {
			removed, err := f.Withdraw(ctx, c)
			if err != nil {
				return news, err
			}
			if removed {
				d.log(ctx, in.Phase, "removed what was said twice: "+c.URL)
				continue
			}
		}
		said, err := known(ctx, f, c)
		if err != nil {
			return news, err
		}
		said.Bot = said.Bot || cruise.Among(d.Settings.Bots, c.Author)
		if !said.Write && !said.Ours {
			said = Bounded(said)
		}
		news.Comments = append(news.Comments, said)
	}
	news.Gone, err = takenBack(ctx, f, in)
	return news, err
}

// Sort asks a model what a comment is. What no model says is not known.
func (d *Doer) Sort(ctx context.Context, in cruise.SortIn) (cruise.Sort, error) {
	answer, err := d.Ask(ctx, in.Worker, cruise.Prompt("sort", in.Text))
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		d.log(ctx, in.Phase, "no model sorts what was said, so it is work: "+err.Error())
	}
	return cruise.ParseSort(answer), nil
}

// Bounded cuts a stranger's comment: it is recorded with the phase's steps, and strangers can write a lot.
func Bounded(c cruise.Comment) cruise.Comment {
	if len(c.Body) > maxStranger {
		c.Body = c.Body[:safetext.Boundary(c.Body, maxStranger)] + "\n[cut: the rest is on the pull request]"
	}
	return c
}

// CommentOf is a comment as phases see it.
func CommentOf(c forge.Comment) cruise.Comment {
	out := cruise.Comment{
		ID: c.ID, Kind: string(c.Kind), Author: c.Author, Body: c.Body, Path: c.Path, Line: c.Line, URL: c.URL,
		State: c.State, Commit: c.Commit, At: c.Created, Changed: c.Created, Ours: c.Own, Bot: c.Bot, Foreign: c.Foreign,
	}
	if c.Updated.After(out.Changed) {
		out.Changed = c.Updated
	}
	if c.Edited {
		// The text too: a comment may change twice in one second.
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(c.Body))
		out.ID = fmt.Sprintf("%s%s%d-%08x", c.ID, cruise.EditedMark, c.Updated.Unix(), sum.Sum32())
	}
	return out
}
