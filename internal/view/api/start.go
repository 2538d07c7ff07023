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
	rank := map[string]int{"script": 1, cfg.Agent.Default: -1} // script only carries out shell commands
	slices.SortStableFunc(out.Agents, func(a, b string) int { return rank[a] - rank[b] })
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

// begun is a run that was started, once: a second click, or a page that asks again, gets the same answer.
type begun struct {
	once sync.Once
	says []string
	err  error
}

// start is `cco box push --detach` for one agent, and `--agents` for several.
func start(ctx context.Context, j *job, in Start) error {
	const shortest = 8
	switch may, err := j.benches(ctx); {
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
	says, err := j.once(in.Key, func() ([]string, error) { return j.begin(ctx, in) })
	j.says = append(j.says, says...)
	return err
}

// once begins what a key was drawn for, unless that was done. What went wrong may be tried again.
func (d *Desk) once(key string, begin func() ([]string, error)) ([]string, error) {
	known, _ := d.started.LoadOrStore(key, &begun{})
	b := known.(*begun) // nothing else is in it
	b.once.Do(func() { b.says, b.err = begin() })
	if b.err != nil {
		d.started.CompareAndDelete(key, b)
	}
	return b.says, b.err
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
