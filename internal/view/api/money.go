package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// Bounds of what the page of money shows.
const (
	moneyDays = 14
	moneyMost = 12
)

func (d *Desk) money(ctx context.Context, _ *http.Request) (out Money, err error) {
	cfg, err := d.App.ConfigIn("")
	out.Wrong = without(out.Wrong, "settings", err)
	out.Limits = session.Limits(cfg.Limits)
	db := d.Sessions.Store
	out.Today, err = db.SpentOn(ctx, store.Day(d.Now()))
	out.Wrong = without(out.Wrong, "today", err)
	for by, to := range map[string]*[]Sum{app.ByDay: &out.Days, "agent": &out.Agents, "model": &out.Models,
		"repository": &out.Repos} {
		bill, err := d.App.Cost(ctx, d.Now().AddDate(0, 0, 1-moneyDays), []string{by})
		out.Wrong = without(out.Wrong, "by "+by, err)
		for _, r := range bill.Rows {
			*to = append(*to, Sum{r.Of[by], r.Spend})
		}
		slices.SortFunc(*to, func(a, b Sum) int {
			return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Tokens(), a.Tokens()), cmp.Compare(a.Name, b.Name))
		})
	}
	bill, err := d.App.Cost(ctx, d.Now().AddDate(0, 0, 1-moneyDays), []string{app.ByDay, "agent"})
	out.Wrong = without(out.Wrong, "by day and agent", err)
	for _, r := range bill.Rows {
		out.By = append(out.By, DaySum{r.Of[app.ByDay], r.Of["agent"], r.Spend})
	}
	out.Days = everyDay(out.Days, d.Now())
	list, err := db.Sessions(ctx, "")
	out.Wrong = without(out.Wrong, "sessions", err)
	slices.SortStableFunc(list, func(a, b store.Session) int {
		return cmp.Or(cmp.Compare(b.Spent.Cost, a.Spent.Cost), cmp.Compare(b.Spent.Tokens(), a.Spent.Tokens()))
	})
	for _, v := range list[:min(len(list), moneyMost)] {
		if v.Spent.Tokens() > 0 || v.Spent.Cost > 0 {
			out.Sessions = append(out.Sessions, d.listed(v))
		}
	}
	phases, err := db.Phases(ctx, 1<<20)
	out.Wrong = without(out.Wrong, "phases", err)
	slices.SortStableFunc(phases, func(a, b store.Phase) int { return cmp.Compare(b.Cost, a.Cost) })
	for _, p := range phases[:min(len(phases), moneyMost)] {
		out.Phases = append(out.Phases, listedPhase(p))
	}
	return out, ctx.Err()
}

// everyDay has each day once, up to today, also those on which nothing was spent.
func everyDay(spent []Sum, now time.Time) (days []Sum) {
	of := map[string]Sum{}
	for _, s := range spent {
		of[s.Name] = s
	}
	for i := range moneyDays {
		day := store.Day(now.AddDate(0, 0, i+1-moneyDays))
		days = append(days, Sum{day, of[day].Spend})
	}
	return days
}
