package app

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/store"
)

// ByDay is how a bill is divided unless something else is asked for.
const ByDay = "day"

// accounts are the ways to divide a bill, in the order of its columns.
func accounts() []account {
	return []account{
		{ByDay, func(a store.Account) string { return a.Day }},
		{"repository", func(a store.Account) string { return a.Repo }},
		{"agent", func(a store.Account) string { return a.Agent }},
		{"model", func(a store.Account) string { return a.Model }},
		{"phase", func(a store.Account) string { return a.Phase }},
	}
}

type account struct {
	name string
	of   func(store.Account) string
}

// Accounts names the ways to divide a bill.
func Accounts() (names []string) {
	for _, a := range accounts() {
		names = append(names, a.name)
	}
	return names
}

// Bill is what was spent, divided.
type Bill struct {
	Since string      `json:"since,omitempty"` // the first day that counts
	By    []string    `json:"by"`
	Rows  []BillRow   `json:"rows"`
	Total store.Spend `json:"total"`
}

// BillRow is what was spent on one thing.
type BillRow struct {
	Of map[string]string `json:"of"` // by the names of Bill.By
	store.Spend
}

// Cost says what agents have spent from a day on, divided by some of Accounts. The zero time is everything.
func (a *App) Cost(ctx context.Context, since time.Time, by []string) (b Bill, err error) {
	var chosen []account
	for _, ac := range accounts() {
		if slices.Contains(by, ac.name) {
			chosen, b.By = append(chosen, ac), append(b.By, ac.name)
		}
	}
	for _, name := range by {
		if !slices.Contains(Accounts(), name) {
			return b, Usagef("--by %s: there are %s", name, strings.Join(Accounts(), ", "))
		}
	}
	if len(chosen) == 0 {
		return b, Usagef("--by needs one or more of %s", strings.Join(Accounts(), ", "))
	}
	if !since.IsZero() {
		b.Since = store.Day(since)
	}
	st, err := a.Store(ctx)
	if err != nil {
		return b, err
	}
	defer func() { _ = st.Close() }()
	all, err := st.Accounts(ctx, b.Since)
	if err != nil {
		return b, err
	}
	b.Rows, b.Total = divide(all, chosen)
	return b, nil
}

// divide adds up what belongs together. Days are in order, and within them what cost most comes first.
func divide(all []store.Spent, by []account) (rows []BillRow, total store.Spend) {
	rows = []BillRow{}
	at := map[string]int{}
	repos := map[string]string{} // worktrees of one repository are one
	for _, v := range all {
		repos[v.RepoKey] = v.Repo
	}
	for _, v := range all {
		v.Repo = repos[v.RepoKey]
		of, key := map[string]string{}, ""
		for _, ac := range by {
			of[ac.name] = ac.of(v.Account)
			key += of[ac.name] + "\x00"
		}
		i, known := at[key]
		if !known {
			i, at[key] = len(rows), len(rows)
			rows = append(rows, BillRow{Of: of})
		}
		rows[i].Spend = rows[i].Add(v.Spend)
		total = total.Add(v.Spend)
	}
	slices.SortStableFunc(rows, func(a, b BillRow) int {
		return cmp.Or(strings.Compare(a.Of[ByDay], b.Of[ByDay]), cmp.Compare(b.Cost, a.Cost),
			cmp.Compare(b.Tokens(), a.Tokens()))
	})
	return rows, total
}
