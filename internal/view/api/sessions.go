package api

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/view/patch"
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
		Cause: string(v.Cause), Seen: seenOf(v), Question: safetext.Quote(v.Question)}
	out.Last = d.lastWords(v.ID)
	plan, err := d.Sessions.Looking().Sent(v, maxPlan)
	out.Wrong = without(out.Wrong, "its plan", err)
	out.Plan = safetext.Quote(plan)
	if o, err := d.Sessions.ReadOrder(v.ID); err == nil {
		out.Limits, out.Phase = o.Limits, o.Phase
	}
	rec, err := d.record(v.ID)
	if err == nil {
		defer func() { _ = rec.Close() }()
		out.Events, _, err = rec.Skip(math.MaxInt64)
	}
	out.Wrong = without(out.Wrong, "its transcript", err)
	return out, nil
}

// without notes a part that could not be read: it leaves the others.
func without(wrong []string, part string, err error) []string {
	if err == nil {
		return wrong
	}
	return append(wrong, part+": "+safetext.Fit(err.Error(), 500))
}

// seenOf names a session's run and what it asks, as somebody has seen it: what answers it must say the same.
func seenOf(v store.Session) string {
	return named(v.ID, v.State, v.Cause, v.Question, v.Asked.UnixNano(), v.Started.UnixNano(), v.Finished.UnixNano())
}

func named(parts ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", parts))
	return hex.EncodeToString(sum[:8])
}

// record is the transcript of a session; an empty one if nothing was said yet.
func (d *Desk) record(id string) (*session.Record, error) {
	rec, err := d.Sessions.OpenRecord(id)
	if errors.Is(err, os.ErrNotExist) {
		return &session.Record{}, nil
	}
	return rec, err
}

// maxPlan bounds how much of a plan is shown.
const maxPlan = 64 << 10

// Bounds of a passage.
const (
	passageUsual = 200
	passageMost  = 1000
	passageBytes = 2 << 20
)

// passage reads a part of a transcript: its end, or from a line on.
func (d *Desk) passage(ctx context.Context, r *http.Request) (p Passage, err error) {
	p.Items = []Item{}
	most, err := number("limit", r.URL.Query().Get("limit"), passageUsual)
	if err != nil {
		return p, err
	}
	most = max(1, min(most, passageMost))
	if _, err := d.Sessions.Get(ctx, r.PathValue("id")); err != nil {
		return p, err
	}
	rec, err := d.record(r.PathValue("id"))
	if err != nil {
		return p, err
	}
	defer func() { _ = rec.Close() }()
	if p.Total, _, err = rec.Skip(math.MaxInt64); err != nil {
		return p, err
	}
	if p.First, err = number("first", r.URL.Query().Get("first"), max(0, p.Total-most)); err != nil {
		return p, err
	}
	p.First = min(p.First, p.Total)
	p.End = p.First
	if _, p.From, err = rec.Skip(p.First); err != nil {
		return p, err
	}
	size := 0
	p.Next, err = rec.Read(p.From, func(l session.Line) bool {
		if it, ok := item(l); ok {
			p.Items = append(p.Items, it)
			size += len(it.text())
		}
		p.End++
		return p.End-p.First < most && size < passageBytes && ctx.Err() == nil
	})
	return p, errors.Join(err, ctx.Err())
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
	} else if _, err = d.Sessions.Get(r.Context(), r.PathValue("id")); err == nil {
		rec, err = d.record(r.PathValue("id"))
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

// How much of a change is read to be shown in its parts: of all files, and of one that is asked for alone.
const (
	maxPatch = 2 << 20
	maxAlone = 8 << 20
)

func (d *Desk) changes(ctx context.Context, r *http.Request) (Changes, error) {
	v, err := d.Sessions.Get(ctx, r.PathValue("id"))
	if err != nil {
		return Changes{}, err
	}
	asked, leave := time.Now(), d.join()
	defer func() { time.AfterFunc(examineOn, leave) }()
	d.glances.of(d, v, true) // meanwhile
	var text bytes.Buffer
	alone, most := r.URL.Query().Get("file"), maxPatch
	if alone != "" {
		most = maxAlone
	}
	out, err := d.look(ctx, v, r, &app.Bounded{To: &text, Left: most})
	if err != nil {
		return out, err
	}
	// It is read when nothing is held up any more, and what the gate finds is waited for as short as that takes.
	g, known := d.found(ctx, v, asked)
	if !known && d.offerOf(v) == "" && out.Seen != "" { // what it offers has no name
		g, known = d.glance(ctx, v, "glance-"+v.ID), true
	}
	known = known && (out.Pulled || g.wrong != "" || g.seen == out.Seen)
	if out.Examining = !known; out.Examining {
		out.Seen = "" // nobody can consent to it yet
	}
	if known {
		out.Groups, out.Notes = groups(g.report, out.policy), slices.Clone(g.report.Notes)
		if g.wrong != "" {
			out.Notes = append(out.Notes, "it could not be examined: "+g.wrong)
		}
	}
	out.Files, out.Cut = patch.Read(ctx, text.String(), patch.Options{Report: g.report, Alone: alone, Ends: out.Cut,
		Named: out.names})
	return out, errors.Join(ctx.Err(), d.noted(v.ID, &out))
}

// network is what left a session.
func (d *Desk) network(ctx context.Context, r *http.Request) (out Network, err error) {
	v, err := d.Sessions.Get(ctx, r.PathValue("id"))
	if err == nil {
		out.Left, out.Refused, err = traffic([]string{d.Sessions.NetFile(v.ID)})
	}
	return out, err
}

// maxText bounds a change as a text.
const maxText = 1 << 30

// patch gives a change, or that of one file, as a text, whole and however long it is.
func (d *Desk) patch(w http.ResponseWriter, r *http.Request) {
	f, err := os.CreateTemp(filepath.Dir(d.LogFile), ".patch-*")
	if err == nil {
		defer func() { _ = f.Close() }()
		err = os.Remove(f.Name()) // it goes with its file
	}
	var v store.Session
	if err == nil {
		v, err = d.Sessions.Get(r.Context(), r.PathValue("id"))
	}
	if err == nil { // not to the browser, which may be slow: pulls would wait for it
		_, err = d.look(r.Context(), v, r, &app.Bounded{To: f, Left: maxText})
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		d.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	ctl := http.NewResponseController(w)
	lines := bufio.NewScanner(f)
	lines.Split(pieces)
	for lines.Scan() {
		_ = ctl.SetWriteDeadline(time.Now().Add(slow))
		if _, err := io.WriteString(w, safetext.Quote(lines.Text())); err != nil {
			return
		}
	}
}

// pieces splits a text behind its lines; one that is very long, between two characters.
func pieces(data []byte, end bool) (advance int, token []byte, err error) {
	n := bytes.IndexByte(data, '\n') + 1
	if n == 0 && (end || len(data) >= bufio.MaxScanTokenSize/2) {
		if n = len(data); !end {
			n = safetext.Boundary(string(data), len(data)-1)
		}
		for range len("<U") { // what looks like a spelled character stays in one piece
			if n > 0 && !end && strings.IndexByte("<U", data[n-1]) >= 0 {
				n--
			}
		}
	}
	if n == 0 {
		return 0, nil, nil
	}
	return n, data[:n], nil
}

// look writes what a session changed, as the address says: all of it, one commit or one file.
func (d *Desk) look(ctx context.Context, v store.Session, r *http.Request, w *app.Bounded) (out Changes, err error) {
	cfg, err := d.App.ConfigIn(v.Repo)
	if err != nil {
		return out, err
	}
	out.Commit, out.Branch, out.policy = r.URL.Query().Get("commit"), v.Branch, cfg.Pull.Policy
	look := d.Sessions.Looking()
	err = look.Unexamined(ctx, v.ID, app.PullOptions(cfg, v.Repo), func(repo *git.Repo, c session.Changed) error {
		out.Base, out.Tip, out.Wip, out.Pulled = c.Base, c.Tip, c.Wip != "", c.Pulled
		if !c.Pulled {
			out.Seen = c.Seen()
		} else if at, err := repo.Branch(ctx, v.Branch); err == nil {
			out.Whole, _ = repo.IsAncestor(ctx, c.Tip, at) // a branch that can't be read is not said to have anything
		}
		out.Added, out.Deleted, out.names = c.Summary.Added, c.Summary.Deleted, c.Summary.Files
		for _, s := range c.Summary.Commits {
			s.Subject, s.Author = safetext.Quote(s.Subject), safetext.Quote(s.Author)
			out.Commits = append(out.Commits, s)
		}
		return out.diff(ctx, repo, w, r.URL.Query().Get("file"))
	})
	return out, err
}

// diff writes the patch of what is looked at.
func (c *Changes) diff(ctx context.Context, repo *git.Repo, w *app.Bounded, file string) (err error) {
	from, to := c.Base, c.Tip
	if c.Commit != "" {
		if !slices.ContainsFunc(c.Commits, func(k git.CommitLine) bool { return k.Commit == c.Commit }) {
			return app.Usagef("commit: %q is not one of this session", c.Commit)
		}
		if from, err = repo.Parent(ctx, c.Commit); err != nil {
			return err
		}
		to = c.Commit
	}
	if from == to {
		return nil
	}
	var only []string
	const longest = 4096 // a name of a file
	if strings.ContainsRune(file, 0) || len(file) > longest || file != "" && !filepath.IsLocal(file) {
		return app.Usagef("file: this is no name of a file")
	}
	if file != "" && !strings.Contains(file, "<U+") { // a name that is spelled is looked for among all
		only = []string{file}
	}
	err = repo.Diff(ctx, w, from, to, git.DiffLines, only...)
	if c.Cut = w.Over; !c.Cut || ctx.Err() != nil {
		return err
	}
	if c.Commit == "" {
		return nil
	}
	sum, err := repo.Summary(ctx, from, to)
	c.names = sum.Files
	return err
}

// webAddress is an address that a page may link to, and nothing else.
func webAddress(s string) string {
	if strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") {
		return safetext.Line(s)
	}
	return ""
}
