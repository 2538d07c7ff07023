package attention

import (
	"context"
	"os"

	"github.com/cco-dev/cco/internal/store"
)

// Listed is a session or a phase in a list of all.
type Listed struct {
	Need
	Phase    bool
	Live     bool
	Stage    string // of a phase
	Cost     float64
	Estimate bool // Cost is one
}

// recent is how many ended sessions are listed, and as many phases with them.
const recent = 20

// Overview lists all sessions and phases by what they need of a person: first what Needs lists, then what is at
// work, then what has ended lately. If it is not to be sure, it believes the records, also of keepers that were killed.
func (d Desk) Overview(ctx context.Context, sure bool) ([]Listed, error) {
	read := d.Store.Sessions
	if sure {
		read = d.List
	}
	sessions, err := read(ctx, "")
	if err != nil {
		return nil, err
	}
	phases, err := d.Store.Phases(ctx, 1<<20)
	if err != nil {
		return nil, err
	}
	waiting, err := d.NeedsOf(ctx, sessions)
	if err != nil {
		return nil, err
	}
	needs := map[string]Need{}
	for _, n := range waiting {
		needs[n.ID] = n
	}
	var list []Listed
	add := func(l Listed) {
		if n, waits := needs[l.ID]; waits {
			l.Need = n
		}
		list = append(list, l)
	}
	ended := 0
	for _, v := range sessions { // the newest first
		_, waits := needs[v.ID]
		if v.Plan == "" && !waits {
			continue // it is part of a phase
		}
		if !waits && !v.Live() {
			if ended >= recent || d.forgotten(v) {
				continue
			}
			ended++
		}
		add(Listed{Need: Quiet(v), Live: v.Live(), Cost: v.Spent.Cost, Estimate: v.Spent.Estimate})
	}
	for _, p := range phases { // the living first
		l := Listed{Phase: true, Live: !p.Ended, Stage: p.Stage, Cost: p.Cost, Estimate: p.Estimate,
			Need: Need{ID: p.ID, Kind: AtWork, Since: p.Created, Repo: p.Repo, Branch: p.Branch, Title: p.Title}}
		if p.Ended {
			if ended >= 2*recent {
				break
			}
			ended++
			l.Kind, l.Since = Over, p.Updated
		}
		add(l)
	}
	Arrange(list, func(l Listed) Need { return l.Need })
	return list, nil
}

// Quiet is the place in a list of a session that needs nothing.
func Quiet(v store.Session) Need {
	n := Need{ID: v.ID, Kind: AtWork, State: v.State, Since: v.Created, Agent: v.Agent, Box: v.Box, Repo: v.Repo,
		Key: v.RepoKey, Branch: v.Branch, Title: v.Title, Words: v.Reason}
	if !v.Live() {
		n.Kind, n.Since = Over, v.Finished
	}
	return n
}

// forgotten says that nothing is left of a session but its record.
func (d Desk) forgotten(v store.Session) bool {
	_, err := os.Stat(d.OrderFile(v.ID))
	return err != nil
}
