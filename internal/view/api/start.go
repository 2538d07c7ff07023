package api

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
)

// Bench is what a run can be started with.
type Bench struct {
	Repos  []Place  `json:"repos" doc:"those that cco has worked in, the last first, and those that cco view was given"`
	Agents []string `json:"agents" doc:"those that are ready here, the usual one first"`
	Budget float64  `json:"budget" doc:"the usual budget in dollars"`
}

// Place is a repository.
type Place struct {
	Path   string `json:"path" doc:"its top directory"`
	Branch string `json:"branch" doc:"that is checked out; none if it can't be told"`
}

// Start starts a run.
type Start struct {
	Text   string   `json:"text" doc:"what is to be done, in Markdown"`
	Repo   string   `json:"repo" doc:"one of the repositories that can be chosen"`
	Agents []string `json:"agents" doc:"a session for each, which share the budget"`
	Budget float64  `json:"budget" doc:"dollars that all of them may cost together"`
	Key    string   `json:"key" doc:"drawn for this run: what has the same starts nothing again, and gets the same answer"`
}

// usualBudget is what a run may cost whose settings say nothing.
const usualBudget = 3

// bench lists what can be chosen. What can't be read can't be chosen.
func (d *Desk) bench(ctx context.Context, _ *http.Request) (out Bench, err error) {
	cfg, err := d.App.ConfigIn("")
	if err != nil {
		return out, err
	}
	out.Budget = cmp.Or(cfg.Limits.RunCost, usualBudget)
	agents, err := d.App.Agents(ctx)
	if err != nil {
		return out, err
	}
	for _, a := range agents {
		if a.Ready {
			out.Agents = append(out.Agents, a.Name)
		}
	}
	usual := cfg.Agent.Default
	slices.SortStableFunc(out.Agents, func(a, b string) int { return rank(a, usual) - rank(b, usual) })
	dirs, err := d.benches(ctx)
	for _, dir := range dirs {
		p := Place{Path: dir}
		if repo, err := d.App.OpenRepo(ctx, dir); err == nil {
			if head, err := repo.Head(ctx); err == nil {
				p.Branch = head.Branch
			}
		}
		out.Repos = append(out.Repos, p)
	}
	return out, err
}

// rank puts the usual agent first, and the one that only carries out shell commands last.
func rank(name, usual string) int {
	switch name {
	case usual:
		return 0
	case "script":
		return 2
	}
	return 1
}

// mostBenches bounds how many repositories can be chosen.
const mostBenches = 50

// benches are the repositories in which a run may be started.
func (d *Desk) benches(ctx context.Context) ([]string, error) {
	list, err := d.Sessions.Store.Sessions(ctx, "")
	dirs := slices.Clone(d.Repos)
	for _, v := range list {
		if len(dirs) < mostBenches && !slices.Contains(dirs, v.Repo) {
			if _, err := os.Stat(filepath.Join(v.Repo, ".git")); err == nil {
				dirs = append(dirs, v.Repo)
			}
		}
	}
	return dirs, err
}

// starts remembers what was started, so that nothing is started twice: by a second click, or by a page that asks again.
type starts struct {
	mu  sync.Mutex
	all map[string]*begun
}

type begun struct {
	once sync.Once
	says []string
	err  error
}

// of is the start of a key. What was not started may be tried again.
func (s *starts) of(key string) *begun {
	s.mu.Lock()
	defer s.mu.Unlock()
	const most = 1000
	if s.all == nil || len(s.all) > most {
		s.all = map[string]*begun{}
	}
	if s.all[key] == nil {
		s.all[key] = &begun{}
	}
	return s.all[key]
}

func (s *starts) drop(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
}

// start is `cco box push --detach` for one agent, and `--agents` for several.
func (d *Desk) start(ctx context.Context, j *job, _ *http.Request, in Start) error {
	const shortest = 8
	switch may, err := d.benches(ctx); {
	case err != nil:
		return err
	case !slices.Contains(may, in.Repo):
		return app.Usagef("%s: no run can be started there from the page: `cco view DIR` lets it be chosen",
			safetext.Line(in.Repo))
	case strings.TrimSpace(in.Text) == "":
		return app.Usagef("what is to be done?")
	case len(in.Agents) == 0:
		return app.Usagef("which agent?")
	case in.Budget <= 0:
		return app.Usagef("a run that is started here needs a budget")
	case len(in.Key) < shortest:
		return app.Usagef("key: draw one of at least %d characters", shortest)
	}
	b := d.started.of(in.Key)
	b.once.Do(func() { b.says, b.err = j.begin(ctx, in) })
	if b.err != nil {
		d.started.drop(in.Key)
		return b.err
	}
	j.says = append(j.says, b.says...)
	return nil
}

func (j *job) begin(ctx context.Context, in Start) (says []string, err error) {
	j.Dir = in.Repo
	cfg, err := j.Config()
	if err != nil {
		return nil, err
	}
	o := j.RunOptions(cfg)
	o.Message, o.Box, o.Depth, o.Limits.RunCost = in.Text, cfg.Box.Name, cfg.Push.Depth, in.Budget
	var list []store.Session
	if len(in.Agents) > 1 {
		list, err = j.PushAll(ctx, j.sessions, cfg, o, in.Agents, app.PlainBox)
	} else {
		if o.Agent = in.Agents[0]; o.Agent != cfg.Agent.Default {
			o.Model = "" // it is the default agent's
		}
		var rec store.Session
		if rec, err = j.Push(ctx, j.sessions, cfg, o, app.PlainBox); err == nil {
			list = append(list, rec)
		}
	}
	for _, v := range list {
		says = append(says, "session "+v.ID+" started")
	}
	return says, err
}
