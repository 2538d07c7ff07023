package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/store"
)

// Bounds of what the page of money shows.
const (
	moneyDays = 60
	moneyMost = 30
)

func (d *Desk) money(ctx context.Context, _ *http.Request) (Money, error) {
	out := Money{Days: []Sum{}, Agents: []Sum{}, Models: []Sum{}, Repos: []Sum{}, Sessions: []Session{}, Phases: []Phase{}}
	cfg, err := d.App.ConfigIn("")
	if err != nil {
		return out, err
	}
	out.Limits = Limits(cfg.Limits)
	db := d.Sessions.Store
	today, err := db.SpentOn(ctx, store.Day(d.Now()))
	if err != nil {
		return out, err
	}
	out.Today = spend(today)
	for by, to := range map[string]*[]Sum{app.ByDay: &out.Days, "agent": &out.Agents, "model": &out.Models,
		"repository": &out.Repos} {
		bill, err := d.App.Cost(ctx, d.Now().AddDate(0, 0, -moneyDays), []string{by})
		if err != nil {
			return out, err
		}
		for _, r := range bill.Rows {
			*to = append(*to, Sum{r.Of[by], spend(r.Spend)})
		}
		slices.SortFunc(*to, func(a, b Sum) int {
			if by == app.ByDay {
				return cmp.Compare(a.Name, b.Name)
			}
			return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name))
		})
	}
	list, err := db.Sessions(ctx, "")
	if err != nil {
		return out, err
	}
	slices.SortStableFunc(list, func(a, b store.Session) int {
		return cmp.Or(cmp.Compare(b.Spent.Cost, a.Spent.Cost), cmp.Compare(b.Spent.Tokens(), a.Spent.Tokens()))
	})
	for _, v := range list[:min(len(list), moneyMost)] {
		if v.Spent.Tokens() > 0 || v.Spent.Cost > 0 {
			out.Sessions = append(out.Sessions, d.listed(v))
		}
	}
	phases, err := db.Phases(ctx, 1<<20)
	if err != nil {
		return out, err
	}
	slices.SortStableFunc(phases, func(a, b store.Phase) int { return cmp.Compare(b.Cost, a.Cost) })
	for _, p := range phases[:min(len(phases), moneyMost)] {
		out.Phases = append(out.Phases, listedPhase(p))
	}
	return out, nil
}
