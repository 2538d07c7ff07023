package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/view/patch"
	"github.com/cco-dev/cco/internal/view/words"
)

func (d *Desk) sessionList(ctx context.Context, r *http.Request) ([]Session, error) {
	list, err := d.Sessions.List(ctx, r.URL.Query().Get("box"))
	if err != nil {
		return nil, err
	}
	out := []Session{}
	for _, v := range list {
		out = append(out, d.listed(v))
	}
	return out, nil
}

func (d *Desk) session(ctx context.Context, r *http.Request) (SessionDetail, error) {
	v, err := d.Sessions.Get(ctx, r.PathValue("id"))
	if err != nil {
		return SessionDetail{}, err
	}
	out := SessionDetail{Session: d.listed(v), Live: v.Live(), Terminal: d.Sessions.OnTerminal(v.ID),
		Cause: string(v.Cause), Plan: words.Parse(d.plan(ctx, v)), Tip: v.Tip}
	if out.Live {
		out.Last = d.lastWords(v.ID)
	}
	if v.Question != "" {
		out.Question = words.Parse(v.Question)
	}
	if o, err := d.Sessions.ReadOrder(v.ID); err == nil {
		out.Limits = Limits(o.Limits)
	}
	rec, err := d.Sessions.OpenRecord(v.ID)
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	defer func() { _ = rec.Close() }()
	out.Events, err = rec.Count()
	return out, err
}

// maxPlan bounds how much of a plan is shown.
const maxPlan = 64 << 10

// plan is what the agent was told, where it can still be read: in the exchange directory, or in the commit that the
// session began with.
func (d *Desk) plan(ctx context.Context, v store.Session) string {
	if v.Plan == session.SentPlan {
		if data, err := d.Sessions.ReadOut(v.ID, inside.PlanFile, maxPlan); err == nil {
			return string(data)
		}
		return ""
	}
	repo, err := git.Open(ctx, v.Repo)
	if err != nil || v.Plan == "" || filepath.IsAbs(v.Plan) {
		return ""
	}
	text, err := repo.TextAt(ctx, v.Origin, v.Plan, maxPlan)
	if err != nil {
		return ""
	}
	return text
}

// Bounds of a passage.
const (
	passageUsual = 200
	passageMost  = 1000
)

// passage reads a part of a transcript: its end, or from a line on.
func (d *Desk) passage(_ context.Context, r *http.Request) (p Passage, err error) {
	p.Items = []Item{}
	most, err := number(r, "limit", passageUsual)
	if err != nil {
		return p, err
	}
	most = max(1, min(most, passageMost))
	rec, err := d.Sessions.OpenRecord(r.PathValue("id"))
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	defer func() { _ = rec.Close() }()
	if p.Total, err = rec.Count(); err != nil {
		return p, err
	}
	if p.First, err = number(r, "first", max(0, p.Total-most)); err != nil {
		return p, err
	}
	if p.From, err = rec.Offset(p.First); err != nil {
		return p, err
	}
	n := int64(0)
	p.Next, err = rec.Read(p.From, func(l session.Line) bool {
		if it, ok := item(l); ok {
			p.Items = append(p.Items, it)
		}
		n++
		return n < most
	})
	return p, err
}

// maxHits ends a search.
const maxHits = 200

// search streams where something is said in a transcript, from the beginning on, as it is found.
func (d *Desk) search(w http.ResponseWriter, r *http.Request) {
	q := strings.ToLower(strings.TrimSpace(r.URL.Query().Get("q")))
	var rec *session.Record
	var err error
	if q == "" {
		err = app.Usagef("q: what is looked for?")
	} else {
		rec, err = d.Sessions.OpenRecord(r.PathValue("id"))
	}
	if err != nil {
		d.fail(w, err)
		return
	}
	defer func() { _ = rec.Close() }()
	s, err := openStream(w, r)
	if err != nil {
		return
	}
	hits := 0
	err = find(r.Context(), rec.Section(0), q, func(h Hit) error {
		hits++
		if err := errors.Join(s.send("hit", "", h), s.ctl.Flush()); err != nil {
			return err
		}
		if hits == maxHits {
			return io.EOF
		}
		return nil
	})
	if err == nil || errors.Is(err, io.EOF) {
		_ = errors.Join(s.send("done", "", Hit{Number: int64(hits)}), s.ctl.Flush())
	}
}

func (d *Desk) changes(ctx context.Context, r *http.Request) (Changes, error) {
	out := Changes{Commit: r.URL.Query().Get("commit"), Commits: []Commit{}, Files: []patch.File{}, Groups: []Group{},
		Notes: []string{}}
	v, err := d.Sessions.Get(ctx, r.PathValue("id"))
	if err != nil {
		return out, err
	}
	cfg, err := d.App.ConfigIn(v.Repo)
	if err != nil {
		return out, err
	}
	err = d.Sessions.Look(ctx, v.ID, pullOptions(cfg, v.Repo), func(repo *git.Repo, c session.Changed) error {
		out.Base, out.Tip, out.Wip, out.Pulled = c.Base, c.Tip, c.Wip != "", c.Pulled
		out.Branch = v.Branch
		if !c.Pulled {
			out.Seen = c.Seen()
		} else if at, err := repo.Branch(ctx, v.Branch); err == nil {
			out.Whole, _ = repo.IsAncestor(ctx, c.Tip, at) // a branch that can't be read is not said to have anything
		}
		out.Added, out.Deleted = c.Summary.Added, c.Summary.Deleted
		out.Notes = append(out.Notes, c.Gate.Notes...)
		for _, s := range c.Summary.Commits {
			out.Commits = append(out.Commits, Commit{s.Commit, s.Subject, s.Author})
		}
		out.Groups = groups(c.Gate, cfg.Pull.Policy)
		return out.read(ctx, repo, c, r.URL.Query().Get("file"))
	})
	return out, err
}

// maxPatch bounds how much of a change is read.
const maxPatch = 16 << 20

// read adds the lines that have changed.
func (c *Changes) read(ctx context.Context, repo *git.Repo, of session.Changed, only string) error {
	from, to := of.Base, of.Tip
	if c.Commit != "" {
		if !slices.ContainsFunc(c.Commits, func(k Commit) bool { return k.ID == c.Commit }) {
			return app.Usagef("commit: %q is not one of this session", c.Commit)
		}
		parent, err := repo.Parent(ctx, c.Commit)
		if err != nil {
			return err
		}
		from, to = parent, c.Commit
	}
	if from == to {
		return nil
	}
	var b bytes.Buffer
	err := repo.Diff(ctx, &patch.Limited{W: &b, Left: maxPatch}, from, to, git.DiffLines)
	if b.Len() > 0 && err != nil && ctx.Err() == nil {
		c.Cut = true
		return nil
	}
	if err != nil {
		return err
	}
	report := of.Gate
	c.Files, err = patch.Read(&b, report, only)
	return err
}

// pullOptions are those of `cco box pull` in the repository of a session.
func pullOptions(cfg config.Config, repo string) session.PullOptions {
	return session.PullOptions{Dir: repo, Bundle: cfg.Pull.MaxBundle, Timeout: cfg.Pull.Timeout,
		Interval: cfg.Pull.Interval,
		Limits:   quarantine.Limits{PackBytes: cfg.Pull.MaxBundle, ObjectBytes: cfg.Pull.MaxBlob},
		Gate:     session.Gate{Policy: cfg.Pull.Policy}}
}

// webAddress is an address that a page may link to, and nothing else.
func webAddress(s string) string {
	if strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") {
		return safetext.Line(s)
	}
	return ""
}
